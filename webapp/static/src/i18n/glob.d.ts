interface ImportMeta {
  /** Vite's import of all files that match `pattern`, each fetched when it is called for. */
  readonly glob: <T>(
    pattern: string,
    options: { readonly query: string; readonly import: "default" },
  ) => Readonly<Record<string, () => Promise<T>>>;
}
