// Polls the server, one request at a time, and only while the page is visible.

/** Polls every `ms` until `onText` returns false. `onLost` receives true when the server does not answer, else false. */
export function poll(path: string, ms: () => number, onText: (text: string) => boolean | Promise<boolean>, onLost: (lost: boolean) => void): void {
  let timer = 0, busy = false;
  const askServer = async (): Promise<void> => {
    if (busy) return;
    clearTimeout(timer);
    busy = true;
    let again = true;
    try {
      if (!document.hidden) {
        const text = await fetchText(path);
        onLost(false);
        again = await onText(text);
      }
    } catch {
      onLost(true);
    }
    busy = false;
    if (again) timer = window.setTimeout(() => void askServer(), ms());
    else document.removeEventListener("visibilitychange", askWhenVisible);
  };
  const askWhenVisible = (): void => { if (!document.hidden) void askServer(); };
  document.addEventListener("visibilitychange", askWhenVisible);
  timer = window.setTimeout(() => void askServer(), ms());
}

export async function fetchText(path: string): Promise<string> {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(30_000) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.text();
}
