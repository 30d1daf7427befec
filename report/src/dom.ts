// Creates elements. Text becomes text nodes, never markup: text of a record is shown, not executed.

export type Child = Node | string | null | undefined;
type Attributes = Record<string, string | boolean | ((event: Event) => void) | undefined>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  appendChildren(element, children);
  return element;
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(element, attributes);
  appendChildren(element, children);
  return element;
}

function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (typeof value === "string") element.setAttribute(name, value);
  }
}

function appendChildren(element: Element, children: Child[]): void {
  for (const child of children) if (child != null) element.append(child);
}

/** Calls `change`, which rebuilds elements, and restores the focus to the element with the same `data-` key. */
export function keepFocus(inside: HTMLElement, key: string, change: () => void): void {
  const active = document.activeElement as HTMLElement | null;
  const focused = inside.contains(active) ? active?.dataset[key] : undefined;
  change();
  if (focused != null) [...inside.querySelectorAll<HTMLElement>(`[data-${key}]`)].find((one) => one.dataset[key] === focused)?.focus();
}
