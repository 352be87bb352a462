import { askMe, useLive } from '../api.js';
import { Snippet } from '../parts/copy.js';
import { Card, Shown } from '../parts/parts.js';
import { type Known, listAllPages } from '../paymasters.js';
import type { Objects } from '../records.js';

const kinds = [
  ['Paymaster', 'paymasters'],
  ['SmartContract', 'contracts'],
  ['PaymasterPolicy', 'policies'],
] as const;

type Written = Extract<Objects[keyof Objects], { readonly labels: unknown }>;

/** The paymaster with all that belongs to it, as a team would commit it. */
export function Manifests({ paymaster: { object } }: { readonly paymaster: Known }) {
  const yaml = useLive(`yaml ${object}`, async () => {
    const { organisation } = await askMe();
    const lists = await Promise.all(
      kinds.map(async ([kind, noun]) => {
        const all = await listAllPages(noun, noun === 'paymasters' ? undefined : object);
        return all
          .filter((each): each is Written => 'labels' in each)
          .filter(({ name }) => noun !== 'paymasters' || name === object)
          .map((each) => renderManifest(kind, organisation.namespace, each));
      }),
    );
    return lists.flat().join('\n---\n');
  });
  return (
    <Card title="YAML">
      <p class="quiet">
        What is written now, without what the service adds: to commit, or to apply elsewhere.
      </p>
      <Shown live={yaml}>{(text) => <Snippet text={text} label="YAML" />}</Shown>
    </Card>
  );
}

function renderManifest(kind: string, namespace: string, { name, labels, spec }: Written): string {
  const hasLabels = Object.keys(labels).length > 0;
  return renderYaml({
    apiVersion: 'paymasters.dev/v1alpha1',
    kind,
    metadata: { name, namespace, ...(hasLabels && { labels }) },
    spec,
  });
}

type Value = string | number | boolean | null | readonly Value[] | { readonly [member: string]: Value };

/** Of JSON, as kubectl reads it. Every text has quotes unless no reader of YAML could take it as anything else. */
function renderYaml(value: object): string {
  return renderLines(value as Value, '').join('\n');
}

function renderLines(value: Value, indent: string): readonly string[] {
  if (Array.isArray(value)) {
    return (value as readonly Value[]).flatMap((each) => {
      const [first = '', ...rest] = isBranch(each) ? renderLines(each, `${indent}  `) : [leaf(each)];
      return [`${indent}- ${first.trimStart()}`, ...rest];
    });
  }
  return Object.entries(value as object).flatMap(([name, each]: [string, Value]) => {
    const key = `${indent}${leaf(name)}:`;
    return isBranch(each) ? [key, ...renderLines(each, `${indent}  `)] : [`${key} ${leaf(each)}`];
  });
}

function isBranch(value: Value): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

/** Words that a reader of YAML 1.1 takes for something else than text. */
const words = /^(y|n|yes|no|on|off|true|false|null|nan|inf)$/i;

function leaf(value: Value): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  if (/^[a-z][\w/.-]*$/i.test(value) && !words.test(value)) return value;
  // Printable text in single quotes stands as it is, such as an ABI.
  if (/^[ -~]*$/.test(value)) return `'${value.replaceAll("'", "''")}'`;
  // JSON is YAML; what is not seen, or turns text around, is escaped.
  return JSON.stringify(value).replace(
    /[\u007f-\u00a0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (each) => String.raw`\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
