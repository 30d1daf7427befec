// Builds the page as one file: scripts and styles go into the HTML itself, so that it needs nothing
// from anywhere when it is opened; and says so to the browser, which then lets nothing else run.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { defineConfig, type Plugin } from "vite";

function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const html = bundle["index.html"];
      if (html?.type !== "asset" || typeof html.source !== "string") return;
      let text = html.source;
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") {
          // `</script` inside a string of the program would end it.
          const code = file.code.replaceAll("</script", "<\\/script");
          const tag = new RegExp(`<script[^>]*src="[^"]*${file.fileName}"[^>]*></script>`);
          text = text.replace(tag, "").replace("</body>", () =>
            `<script type="module">${code}</script>\n</body>`);
          text = text.replace("<title>", () => `${policy(code)}\n    <title>`);
          delete bundle[name];
        } else if (name.endsWith(".css")) {
          const tag = new RegExp(`<link[^>]*href="[^"]*${file.fileName}"[^>]*>`);
          text = text.replace(tag, () => `<style>${String(file.source)}</style>`);
          delete bundle[name];
        }
      }
      const built = `<meta name="kvdyno-sources" content="${sources(import.meta.dirname)}" />`;
      html.source = text.replace("<title>", () => `${built}\n    <title>`);
    },
  };
}

/** Only this program, no network, no frames: whatever a record may have put into the page. */
function policy(code: string): string {
  const hash = createHash("sha256").update(code).digest("base64");
  const rules = [
    "default-src 'none'", `script-src 'sha256-${hash}'`, "style-src 'unsafe-inline'", "img-src data: blob:",
    "base-uri 'none'", "form-action 'none'",
  ];
  return `<meta http-equiv="Content-Security-Policy" content="${rules.join("; ")}" />`;
}

/**
 * A digest of everything that the page is built from. It stands in the page, which is kept in the
 * repository: a test of the program (crates/kvdyno/tests/tidy) computes the same without Node.js
 * and so finds a page that is older than its sources.
 */
function sources(root: string): string {
  const inside = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  const files = [...inside, "index.html", "package-lock.json", "tsconfig.json", "vite.config.ts"].sort();
  const digest = createHash("sha256");
  for (const path of files) {
    const bytes = readFileSync(join(root, path));
    digest.update(`${path}\n${bytes.length}\n`).update(bytes);
  }
  return digest.digest("hex");
}

export default defineConfig({
  base: "./",
  plugins: [oneFile()],
  build: {
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    // The directory holds nothing but the page, which is kept in the repository.
    emptyOutDir: true,
    chunkSizeWarningLimit: 1000,
  },
});
