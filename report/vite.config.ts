// Builds the page as one file: scripts and styles go into the HTML itself, so that it needs nothing
// from anywhere when it is opened; and says so to the browser, which then lets nothing else run.
import { createHash } from "node:crypto";
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
      html.source = text;
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

export default defineConfig({
  base: "./",
  plugins: [oneFile()],
  build: {
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    // The folder is kept in the repository, so that the program's build can watch it.
    emptyOutDir: false,
    chunkSizeWarningLimit: 1000,
  },
});
