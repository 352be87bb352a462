/**
 * Returns one shared string for equal texts. Ten thousand objects have the same namespaces, ABIs, and reasons and
 * messages of conditions, and a parser makes a new string of each. Forgetting a text costs memory, never correctness,
 * so all are forgotten when they take too much.
 */
export type SharedTexts = (text: string) => string;

const maxCharacters = 4 * 1024 * 1024;

export function createSharedTexts(): SharedTexts {
  const texts = new Map<string, string>();
  let characters = 0;
  return (text) => {
    const known = texts.get(text);
    if (known !== undefined) return known;
    if (characters + text.length > maxCharacters) {
      texts.clear();
      characters = 0;
    }
    texts.set(text, text);
    characters += text.length;
    return text;
  };
}
