// Asks the server again and again, one question at a time, and not while nobody looks.

/** Asks after `ms`, and on until `heard` says that it is enough. `lost` is told when nobody answers, and when somebody does again. */
export function poll(path: string, ms: () => number, heard: (text: string) => boolean | Promise<boolean>, lost: (lost: boolean) => void): void {
  let timer = 0, busy = false;
  const ask = async (): Promise<void> => {
    if (busy) return;
    clearTimeout(timer);
    busy = true;
    let more = true;
    try {
      if (!document.hidden) {
        const text = await get(path);
        lost(false);
        more = await heard(text);
      }
    } catch {
      lost(true);
    }
    busy = false;
    if (more) timer = window.setTimeout(() => void ask(), ms());
    else document.removeEventListener("visibilitychange", seen);
  };
  const seen = (): void => { if (!document.hidden) void ask(); };
  document.addEventListener("visibilitychange", seen);
  timer = window.setTimeout(() => void ask(), ms());
}

export async function get(path: string): Promise<string> {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(30_000) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.text();
}
