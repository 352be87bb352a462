import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { definitions } from '../../core/resources/schemas.js';
import { repositoryRoot } from '../support/repository-root.js';
import { startRedis, type RedisServer } from '../support/redis.js';

// Argo CD runs Lua 5.1, and so does Redis: the script is run there, with nothing else to install.

const script = readFileSync(join(repositoryRoot, 'hack/argocd/health.lua'), 'utf8');
const runner = `local obj = cjson.decode(ARGV[1])\nlocal judge = function() ${script}\nend\nreturn cjson.encode(judge())`;

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
}, 240_000);
afterAll(() => redis?.stop());

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
  ])('$name', async ({ conditions, want }) => {
    const object = {
      kind: 'Paymaster',
      metadata: { name: 'shop', generation: 2 },
      ...(conditions === undefined ? {} : { status: { conditions } }),
    };
    expect(await judge(object)).toEqual(want);
  });

  test('is given to Argo CD for every kind that people write, and for no other', () => {
    const file = join(repositoryRoot, 'hack/argocd/argocd-cm.yaml');
    const { data } = parse(readFileSync(file, 'utf8')) as { readonly data: Readonly<Record<string, string>> };
    const kinds = Object.values(definitions).map(({ kind }) => kind);
    expect(Object.keys(data).sort()).toEqual(
      kinds.map((kind) => `resource.customizations.health.paymasters.dev_${kind}`).sort(),
    );
    expect(new Set(Object.values(data))).toEqual(new Set([script]));
  });
});

async function judge(object: object): Promise<unknown> {
  const reply = await redis.command(['EVAL', runner, '0', JSON.stringify(object)]);
  const text = /\{.*\}/.exec(reply)?.[0];
  if (text === undefined) throw new Error(reply);
  return JSON.parse(text);
}
