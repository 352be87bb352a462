import { beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { definitions } from '../../core/resources/schemas.js';
import { repositoryRoot } from '../support/repository-root.js';

// The script in the Lua that Argo CD has inside.

const script = readFileSync(join(repositoryRoot, 'hack/argocd/health.lua'), 'utf8');

let lua: string;
beforeAll(() => {
  lua = execFileSync('sh', [join(repositoryRoot, 'hack/lua/build.sh')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim();
});

type Condition = {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
};
type Case = {
  readonly name: string;
  readonly conditions?: readonly Condition[];
  readonly want: { readonly status: string; readonly message: string };
};

const ready = (status: string, reason: string, message: string, observedGeneration = 2): Condition => ({
  type: 'Ready',
  status,
  reason,
  message,
  observedGeneration,
});
const accepted: Condition = { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'fine' };

describe("Argo CD's health of a resource", () => {
  test.each<Case>([
    {
      name: 'is Progressing before the operator has written any status',
      want: { status: 'Progressing', message: 'Waiting for the operator' },
    },
    {
      name: 'is Progressing while Ready is not among the conditions',
      conditions: [accepted],
      want: { status: 'Progressing', message: 'Waiting for the operator' },
    },
    {
      name: 'is Progressing while Ready speaks of an older spec, however good it was',
      conditions: [accepted, ready('True', 'Ready', 'In use.', 1)],
      want: { status: 'Progressing', message: 'Waiting for the operator to see the last change' },
    },
    {
      name: 'is Healthy when it is Ready',
      conditions: [accepted, ready('True', 'Ready', 'In use.')],
      want: { status: 'Healthy', message: 'In use.' },
    },
    {
      name: 'is Degraded with what to do when it is not',
      conditions: [ready('False', 'NotFunded', 'Deposit more.'), accepted],
      want: { status: 'Degraded', message: 'Deposit more.' },
    },
    {
      name: 'is Suspended when somebody suspended it',
      conditions: [ready('False', 'Suspended', 'Suspended by spec.suspended.')],
      want: { status: 'Suspended', message: 'Suspended by spec.suspended.' },
    },
    {
      name: 'is Suspended when somebody paused it',
      conditions: [ready('False', 'Paused', 'Paused: active is false.')],
      want: { status: 'Suspended', message: 'Paused: active is false.' },
    },
    {
      name: 'is Progressing while nothing is known yet',
      conditions: [ready('Unknown', 'Pending', 'Waits for its Paymaster.')],
      want: { status: 'Progressing', message: 'Waits for its Paymaster.' },
    },
  ])('$name', ({ conditions, want }) => {
    const object = {
      kind: 'Paymaster',
      metadata: { name: 'shop', generation: 2 },
      ...(conditions === undefined ? {} : { status: { conditions } }),
    };
    expect(judge(object)).toEqual(want);
  });

  test('is given to Argo CD for every kind that people write and the operator judges, and for no other', () => {
    const file = join(repositoryRoot, 'hack/argocd/argocd-cm.yaml');
    const { data } = parse(readFileSync(file, 'utf8')) as { readonly data: Readonly<Record<string, string>> };
    const isJudged = ({ printerColumns }: (typeof definitions)[keyof typeof definitions]) =>
      printerColumns.some(({ name }) => name === 'Ready');
    const kinds = Object.values(definitions)
      .filter(isJudged)
      .map(({ kind }) => kind);
    expect(Object.keys(data).sort()).toEqual(
      kinds.map((kind) => `resource.customizations.health.paymasters.dev_${kind}`).sort(),
    );
    expect(new Set(Object.values(data))).toEqual(new Set([script]));
  });
});

function judge(object: object): { readonly status: string; readonly message: string } {
  const program = `local obj = ${luaOf(object)}\nlocal judge = function() ${script}\nend\nlocal health = judge()\nprint(health.status)\nprint(health.message)`;
  const [status = '', message = ''] = execFileSync(lua, ['-e', program], { encoding: 'utf8', timeout: 60_000 }).split('\n');
  return { status, message };
}

/** A value as Lua writes it. */
function luaOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `{${value.map(luaOf).join(', ')}}`;
  return `{${Object.entries(value).map(([key, member]) => `${key} = ${luaOf(member)}`).join(', ')}}`;
}
