import { DomainError, invalidInput, quote, type Problem } from '../../../core/errors.js';
import { isObject } from '../../../core/schema/json-value.js';
import { record } from '../../../core/schema/json-schema.js';
import type { EpochMs } from '../../../core/units/time.js';
import { proposedConfig } from '../../replay/proposal.js';
import type { ReplayConfig } from '../../replay/replayer.js';
import type { Replays } from '../../replay/replays.js';
import type { Tools } from '../deps.js';
import { endpoint } from '../endpoint.js';
import { instant } from '../parameters.js';
import { rangeOf } from './range.js';
import { replayShape } from './replay-record.js';
import { ledgerOff } from './require-ledger.js';
import * as schemas from './schemas.js';

const maxDays = 31;
const mostPaymasters = 1000;

export const startReplayEndpoint = endpoint({
  operationId: 'startReplay',
  summary:
    'Decides recorded operations again under proposed resources; with Accept: application/x-ndjson a line a second until it has ended, and the end of the connection cancels it',
  method: 'post',
  path: '/replays',
  scope: 'organisation',
  needs: ['read'],
  cost: 'reading',
  body: {
    schemas: [
      record(
        { from: schemas.time, to: schemas.time },
        {
          resources: {
            description:
              'Paymasters, SmartContracts and PaymasterPolicies of the organisation, as a text of YAML documents or as a list. Each replaces the object of its name, or is added. Default: none.',
            anyOf: [schemas.text, { type: 'array', items: { type: 'object' } }],
          },
          paymasterIds: {
            description: 'Only these paymasters. Default: all of the organisation.',
            type: 'array',
            items: schemas.uuid,
            minItems: 1,
            maxItems: mostPaymasters,
          },
        },
      ),
    ],
    example: {
      from: '2026-01-01T00:00:00Z',
      to: '2026-01-02T00:00:00Z',
      resources:
        'apiVersion: paymasters.dev/v1alpha1\nkind: PaymasterPolicy\nmetadata: {name: daily, namespace: acme}\nspec: {…}\n',
    },
    // Without a ledger the caller is told that first, whatever the body is.
    parse(tools, body) {
      requireReplays(tools);
      return readBody(body);
    },
  },
  status: 202,
  form: 'lines',
  errors: {
    429: 'A replay of the organisation is running, which the message names, or two of others; or the token calls too often.',
    413: 'The body is too large.',
  },
  schema: replayShape.schema,
  example: { ...replayShape.example, state: 'running', endedAt: null, done: 0, result: null },

  async handle(tools, { principal, body, gone }) {
    const replays = requireReplays(tools);
    const { organisation, namespace, tenant } = principal;
    const { resources, paymasterIds, ...asked } = body;
    const now = tools.clock.now();
    const range = rangeOf(asked, now, { defaultDays: 1, maxDays });
    const { status, follow } = await replays.start({
      organisation: tenant,
      ...range,
      gone,
      async configOf(reader) {
        const proposal = { organisation, namespace, tenant, resources, now, from: range.from };
        return onlyOf(await proposedConfig(reader, tools.proposals, proposal), paymasterIds);
      },
    });
    return {
      data: replayShape.render(status),
      async *lines(gone) {
        for await (const next of follow(gone)) yield replayShape.render(next);
      },
    };
  },
});

export const replayEndpoint = endpoint({
  operationId: 'getReplay',
  summary: 'How far a replay is, and what it has found',
  method: 'get',
  path: '/replays/:id',
  scope: 'organisation',
  needs: ['read'],
  cost: 'reading',
  schema: replayShape.schema,
  example: replayShape.example,

  async handle(tools, { principal, params }) {
    const status = await requireReplays(tools).find(principal.tenant, params['id'] ?? '');
    if (status === undefined) throw unknownReplay();
    return { data: replayShape.render(status) };
  },
});

export const cancelReplayEndpoint = endpoint({
  operationId: 'cancelReplay',
  summary: 'Ends a replay; what it has found so far is dropped',
  method: 'delete',
  path: '/replays/:id',
  scope: 'organisation',
  needs: ['read'],
  cost: 'reading',
  schema: replayShape.schema,
  example: { ...replayShape.example, state: 'cancelled', result: null },

  async handle(tools, { principal, params }) {
    const status = await requireReplays(tools).cancel(principal.tenant, params['id'] ?? '');
    if (status === undefined) throw unknownReplay();
    return { data: replayShape.render(status) };
  },
});

/** Throws LEDGER_OFF: where a ledger is kept it is replayed, too. */
function requireReplays({ replays }: Pick<Tools, 'replays'>): Replays {
  if (replays === undefined) throw ledgerOff();
  return replays;
}

/** Of another organisation, or forgotten. */
function unknownReplay(): DomainError {
  return new DomainError('NOT_FOUND', 'This organisation has no such replay');
}

type Body = {
  readonly from: EpochMs;
  readonly to: EpochMs;
  readonly resources: string | readonly unknown[];
  readonly paymasterIds: readonly string[] | undefined;
};

const members = ['from', 'to', 'resources', 'paymasterIds'];
const time = instant('');

function readBody(body: unknown): Body {
  if (!isObject(body)) throw invalidInput({ field: 'body', expected: 'a JSON object', value: quote(body) });
  const problems: Problem[] = [];
  const read = <T>(
    field: string,
    expected: string,
    parse: (value: unknown) => T | undefined,
  ): T | undefined => {
    const value = parse(body[field]);
    if (value === undefined) problems.push({ field, expected, value: quote(body[field]) });
    return value;
  };
  for (const name of Object.keys(body))
    if (!members.includes(name))
      problems.push({ field: 'body', expected: `made of ${members.join(', ')}`, value: quote(name) });
  const instantOf = (value: unknown) => (typeof value === 'string' ? time.parse(value) : undefined);
  const from = read('from', time.expected, instantOf);
  const to = read('to', time.expected, instantOf);
  const resources = read('resources', 'YAML text or a list of objects', (value = '') =>
    typeof value === 'string' || Array.isArray(value) ? (value as string | readonly unknown[]) : undefined,
  );
  const paymasterIds =
    body['paymasterIds'] === undefined
      ? undefined
      : read('paymasterIds', `a list of 1 to ${mostPaymasters} ids`, (value) =>
          Array.isArray(value) &&
          value.length > 0 &&
          value.length <= mostPaymasters &&
          value.every((id) => typeof id === 'string')
            ? (value as readonly string[])
            : undefined,
        );
  if (from === undefined || to === undefined || resources === undefined || problems.length > 0)
    throw invalidInput(problems);
  return { from, to, resources, paymasterIds };
}

/** Throws NOT_FOUND for an id of another organisation, or of no paymaster. */
function onlyOf(config: ReplayConfig, ids: readonly string[] | undefined): ReplayConfig {
  if (ids === undefined) return config;
  const { paymasters } = config;
  const byId = new Map(paymasters.map((config) => [config.paymasterId, config]));
  const chosen = [...new Set(ids)].map((id) => {
    const found = byId.get(id);
    if (found !== undefined) return found;
    throw new DomainError('NOT_FOUND', `The organisation has no served paymaster with the id ${quote(id)}`);
  });
  return { ...config, paymasters: chosen };
}
