/** The language that the page was rendered in, such as `es`; English where there is no page, as in workers. */
export const language: string = page()?.documentElement.lang || "en";

interface PageLanguage {
  readonly documentElement: { readonly lang: string };
}

function page(): PageLanguage | undefined {
  return (globalThis as { readonly document?: PageLanguage }).document;
}
