/** Creates a small button; `label` describes it to screen readers if its text alone does not. */

export function makeButton(text: string, press: () => void, label = text): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "button quiet";
  made.textContent = text;
  made.setAttribute("aria-label", label);
  made.addEventListener("click", press);
  return made;
}
