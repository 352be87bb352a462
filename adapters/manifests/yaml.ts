import { parse, parseAllDocuments, Document, visit } from 'yaml';
import { printable, printableJson } from '../../core/terminal-text.js';

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

/** YAML for somebody who copies it into a file. Characters that a terminal obeys are escapes, so that programs read them unchanged. */
export function renderYaml(part: Readonly<Record<string, unknown>>): string {
  const document = new Document(part);
  visit(document, {
    Scalar(_, scalar) {
      // Only text in double quotes may have escapes.
      if (typeof scalar.value === 'string' && printable(scalar.value) !== scalar.value)
        scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return printableJson(document.toString());
}
