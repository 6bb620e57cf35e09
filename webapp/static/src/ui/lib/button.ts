/** A small button that does one thing; `label` says to whom, where the text alone does not. */

export function makeButton(text: string, press: () => void, label = text): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "button quiet";
  made.textContent = text;
  made.setAttribute("aria-label", label);
  made.addEventListener("click", press);
  return made;
}
