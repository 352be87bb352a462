/** Without anything to escape: most names and ids. */
const plainText = /^[ !#-[\]-~]*$/;

/** A text as JSON. Asking JSON itself takes several times as long. */
export function quoted(text: string): string {
  return plainText.test(text) ? `"${text}"` : JSON.stringify(text);
}
