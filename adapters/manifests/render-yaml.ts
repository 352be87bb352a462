import { Document, visit } from 'yaml';
import { printable, printableJson } from '../../core/terminal-text.js';

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
