import { parse } from 'yaml';

/** One document, as YAML or JSON, with no more than its text says. Throws what the parser says, without lines of it. */
export function readYaml(text: string): unknown {
  return parse(text, { prettyErrors: false, maxAliasCount: 0 });
}
