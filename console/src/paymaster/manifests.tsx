import { askMe } from '../api.js';
import { useLive } from '../live.js';
import { Snippet } from '../parts/copy.js';
import { Card, Shown } from '../parts/parts.js';
import { listOf, type Known } from '../paymasters.js';
import type { Objects } from '../records.js';
import { yamlOf } from './yaml.js';

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
        const all = await listOf(noun, noun === 'paymasters' ? undefined : object);
        return all
          .filter((each): each is Written => 'labels' in each)
          .filter(({ name }) => noun !== 'paymasters' || name === object)
          .map((each) => documentOf(kind, organisation.namespace, each));
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

function documentOf(kind: string, namespace: string, { name, labels, spec }: Written): string {
  const hasLabels = Object.keys(labels).length > 0;
  return yamlOf({
    apiVersion: 'paymasters.dev/v1alpha1',
    kind,
    metadata: { name, namespace, ...(hasLabels && { labels }) },
    spec,
  });
}
