import { parse, parseAllDocuments } from 'yaml';

/** One document, as YAML or JSON, without anything that its text does not say. Throws the message of the parser, without lines of the document. */
export function readYaml(text: string): unknown {
  return parse(text, { prettyErrors: false, maxAliasCount: 0 });
}

/** All documents of a text that kubectl wrote, which leaves addresses without quotes: 0x and digits are text. Throws as `readYaml`. */
export function readYamlDocuments(text: string): readonly unknown[] {
  const documents = parseAllDocuments(text, {
    prettyErrors: false,
    customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || tag.format !== 'HEX'),
  });
  return [...documents].map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS({ maxAliasCount: 0 }) as unknown;
  });
}
