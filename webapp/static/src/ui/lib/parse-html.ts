/** Parses HTML of this server into a document of its own, in which no script runs. */

interface HtmlPolicies {
  createPolicy(
    name: string,
    rules: { createHTML(html: string): string },
  ): { createHTML(html: string): string };
}

const { trustedTypes } = globalThis as { trustedTypes?: HtmlPolicies };
// The only way to HTML from text on a page (Trusted Types): for answers of this server, which has sanitised them.
const policy = trustedTypes?.createPolicy("minga-html", { createHTML: (html) => html });

/** Returns the document of a page, or of a part of one, that this server sent. */
export function parseHtml(html: string): Document {
  return new DOMParser().parseFromString(policy?.createHTML(html) ?? html, "text/html");
}
