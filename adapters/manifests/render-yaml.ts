import { stringify } from 'yaml';

/** Part of a manifest as YAML, for somebody who copies it into a file. */
export function renderYaml(part: Readonly<Record<string, unknown>>): string {
  return stringify(part);
}
