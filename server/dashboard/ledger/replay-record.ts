import { record, type JsonSchema } from '../../../core/schema/json-schema.js';
import { formatInstant, type EpochMs } from '../../../core/units/time.js';
import type { ReplayStatus } from '../../replay/status.js';
import type { Changed, Decided, ReplayResult } from '../../replay/result.js';
import { amount } from './amounts.js';
import * as schemas from './schemas.js';

export function renderReplay(status: ReplayStatus): Readonly<Record<string, unknown>> {
  const { id, state, from, to, startedAt, endedAt, done, total, error, result } = status;
  return {
    id,
    state,
    from: formatInstant(from),
    to: formatInstant(to),
    startedAt: formatInstant(startedAt),
    endedAt: instantOrNull(endedAt),
    done,
    total: total ?? null,
    error: error ?? null,
    result: result === undefined ? null : renderResult(result),
  };
}

function renderResult({ newlyRefused, newlySponsored, ...rest }: ReplayResult): object {
  return {
    ...rest,
    newlyRefused: renderChanged(newlyRefused),
    newlySponsored: renderChanged(newlySponsored),
    difference: {
      ...signed('maxCost', newlySponsored.maxCostWei - newlyRefused.maxCostWei),
      ...signed('spent', -newlyRefused.spentWei),
    },
  };
}

function signed(name: string, wei: bigint): object {
  if (wei >= 0n) return amount(name, wei);
  const { [`${name}Wei`]: exact, [name]: coins } = amount(name, -wei);
  return { [`${name}Wei`]: `-${exact}`, [name]: `-${coins}` };
}

function renderChanged({ maxCostWei, spentWei, examples, ...rest }: Changed): object {
  return {
    ...rest,
    ...amount('maxCost', maxCostWei),
    ...amount('spent', spentWei),
    examples: examples.map(({ at, recorded, replayed, ...example }) => ({
      ...example,
      at: formatInstant(at),
      recorded: renderDecided(recorded),
      replayed: renderDecided(replayed),
    })),
  };
}

function renderDecided({ verdict, reason, detail, policyId }: Decided): object {
  return { verdict, reason: reason ?? null, detail: detail ?? null, policyId: policyId ?? null };
}

function instantOrNull(at: EpochMs | undefined): string | null {
  return at === undefined ? null : formatInstant(at);
}

const decided = record({
  verdict: { enum: ['sponsored', 'refused'] },
  reason: schemas.textOrNull,
  detail: schemas.textOrNull,
  policyId: schemas.textOrNull,
});

const counts = (name: string, value: JsonSchema): JsonSchema => ({
  type: 'array',
  description: 'The most frequent first.',
  items: record({ [name]: value, count: schemas.count }),
});

const changed = (description: string): JsonSchema => ({
  ...record({
    count: schemas.count,
    maxCostWei: schemas.wei,
    maxCost: schemas.coins,
    spentWei: { ...schemas.wei, description: 'What those that were mined have cost.' },
    spent: schemas.coins,
    byReason: counts('reason', schemas.text),
    bySender: counts('sender', schemas.address),
    examples: {
      type: 'array',
      description: 'The first ones.',
      items: record({
        decision: { ...schemas.uuid, description: '`id` of the decision.' },
        at: schemas.time,
        paymasterId: schemas.uuid,
        sender: schemas.address,
        recorded: decided,
        replayed: decided,
      }),
    },
  }),
  description,
});

const result: JsonSchema = record({
  replayed: schemas.count,
  unchanged: record({
    sponsored: schemas.count,
    refused: schemas.count,
    otherReason: { ...schemas.count, description: 'Of the refused: for another reason than recorded.' },
  }),
  newlyRefused: changed('Was sponsored, and would be refused.'),
  newlySponsored: changed(
    'Was refused, and would be sponsored. Counts as mined at the most that it can cost.',
  ),
  difference: {
    ...record({
      maxCostWei: schemas.wei,
      maxCost: schemas.coins,
      spentWei: {
        ...schemas.wei,
        description: 'What the newly refused have cost. The newly sponsored were never mined.',
      },
      spent: schemas.coins,
    }),
    description: 'Proposed less recorded.',
  },
  wouldRefuse: {
    type: 'array',
    description: 'What policies in Shadow would refuse; nothing of it is refused above.',
    items: record({ policyId: schemas.text, reason: schemas.text, count: schemas.count }),
  },
  notReplayed: {
    type: 'array',
    description: 'Operations that could not be decided again, and what their inputs lack.',
    items: record({ why: schemas.text, count: schemas.count }),
  },
  webhookAnswers: {
    ...schemas.count,
    description: 'Recorded answers of webhooks that were used; none was called.',
  },
  asRecorded: {
    ...schemas.count,
    description:
      'Refused as recorded, because of a deposit, share, bound or suspension that is not replayed.',
  },
  otherConfiguration: {
    ...schemas.count,
    description: 'Recorded under another generation of the Paymaster or Chain than the present one.',
  },
  missingInputs: {
    ...schemas.count,
    description:
      'Decisions of the range that were not decided again, because no inputs of them are kept: dropped, not recorded, or refusals beyond the rate that is recorded.',
  },
  isPastComplete: { type: 'boolean', description: 'False: not all promises before the range were counted.' },
});

export const replaySchema: JsonSchema = record({
  id: schemas.uuid,
  state: { enum: ['running', 'done', 'failed', 'cancelled'] },
  from: schemas.time,
  to: schemas.time,
  startedAt: schemas.time,
  endedAt: schemas.timeOrNull,
  done: { ...schemas.count, description: 'Operations that were decided again so far.' },
  total: {
    type: ['integer', 'null'],
    minimum: 0,
    description: 'Decisions of the range; some may have no inputs.',
  },
  error: schemas.textOrNull,
  result: { anyOf: [{ type: 'null' }, result] },
});

const nothing = {
  count: 0,
  maxCostWei: '0',
  maxCost: '0',
  spentWei: '0',
  spent: '0',
  byReason: [],
  bySender: [],
  examples: [],
};

export const replayExample = {
  id: '0f8fad5b-d9cb-469f-a165-70867728950e',
  state: 'done',
  from: '2026-01-01T00:00:00.000Z',
  to: '2026-01-02T00:00:00.000Z',
  startedAt: '2026-01-05T09:00:00.000Z',
  endedAt: '2026-01-05T09:00:12.000Z',
  done: 1200,
  total: 1200,
  error: null,
  result: {
    replayed: 1200,
    unchanged: { sponsored: 1100, refused: 99, otherReason: 0 },
    newlyRefused: {
      count: 1,
      maxCostWei: '740000000000000',
      maxCost: '0.00074',
      spentWei: '210000000000000',
      spent: '0.00021',
      byReason: [{ reason: 'LIMIT_REACHED', count: 1 }],
      bySender: [{ sender: '0x00000000000000000000000000000000000a11ce', count: 1 }],
      examples: [
        {
          decision: '0193a1b2-c3d4-7e5f-8a6b-000000000001',
          at: '2026-01-01T12:00:00.000Z',
          paymasterId: '7a1c7c2e-1111-5222-8333-444455556666',
          sender: '0x00000000000000000000000000000000000a11ce',
          recorded: { verdict: 'sponsored', reason: null, detail: null, policyId: null },
          replayed: {
            verdict: 'refused',
            reason: 'LIMIT_REACHED',
            detail: 'limit "a thousand a day" of 1100 operations has 0 left',
            policyId: '7e0b4a52-6d7f-5d8a-9a51-0f3b1f1f6a11',
          },
        },
      ],
    },
    newlySponsored: nothing,
    difference: {
      maxCostWei: '-740000000000000',
      maxCost: '-0.00074',
      spentWei: '-210000000000000',
      spent: '-0.00021',
    },
    wouldRefuse: [],
    notReplayed: [],
    webhookAnswers: 0,
    asRecorded: 0,
    otherConfiguration: 0,
    missingInputs: 0,
    isPastComplete: true,
  },
};
