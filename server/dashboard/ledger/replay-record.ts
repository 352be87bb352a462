import { arrayOf, record, type JsonSchema } from '../../../core/schema/json-schema.js';
import type { Changed, Decided, Example, ReplayResult } from '../../replay/result.js';
import type { ReplayStatus } from '../../replay/status.js';
import { about, inCoins, orNull, shapeOf } from '../shape.js';
import * as schemas from './schemas.js';

const decidedShape = shapeOf<Decided>()({
  verdict: [{ enum: ['sponsored', 'refused'] }, 'refused'],
  reason: [schemas.textOrNull, 'LIMIT_REACHED'],
  detail: [schemas.textOrNull, 'limit "a thousand a day" of 1100 operations has 0 left'],
  policyId: [schemas.textOrNull, '7e0b4a52-6d7f-5d8a-9a51-0f3b1f1f6a11'],
});

const exampleShape = shapeOf<Example>()({
  decision: [about(schemas.uuid, '`id` of the decision.'), '0193a1b2-c3d4-7e5f-8a6b-000000000001'],
  at: [schemas.time, '2026-01-01T12:00:00.000Z'],
  paymasterId: [schemas.uuid, '7a1c7c2e-1111-5222-8333-444455556666'],
  sender: [schemas.address, '0x00000000000000000000000000000000000a11ce'],
  recorded: [
    decidedShape.schema,
    decidedShape.render({ verdict: 'sponsored' }),
    ({ recorded }) => decidedShape.render(recorded),
  ],
  replayed: [decidedShape.schema, decidedShape.example, ({ replayed }) => decidedShape.render(replayed)],
});

const counts = (name: string, value: JsonSchema): JsonSchema =>
  arrayOf(record({ [name]: value, count: schemas.count }), 'The most frequent first.');

const changedShape = shapeOf<Changed>()({
  count: [schemas.count, 1],
  ...inCoins('maxCost', schemas.wei, 740_000_000_000_000n),
  ...inCoins('spent', about(schemas.wei, 'What those that were mined have cost.'), 210_000_000_000_000n),
  byReason: [counts('reason', schemas.text), [{ reason: 'LIMIT_REACHED', count: 1 }]],
  bySender: [
    counts('sender', schemas.address),
    [{ sender: '0x00000000000000000000000000000000000a11ce', count: 1 }],
  ],
  examples: [
    arrayOf(exampleShape.schema, 'The first ones.'),
    [exampleShape.example],
    ({ examples }) => examples.map(exampleShape.render),
  ],
});
const none: Changed = { count: 0, maxCostWei: 0n, spentWei: 0n, byReason: [], bySender: [], examples: [] };

const differenceShape = shapeOf<ReplayResult>()({
  ...inCoins(
    'maxCost',
    schemas.wei,
    -740_000_000_000_000n,
    ({ newlySponsored, newlyRefused }: ReplayResult) => newlySponsored.maxCostWei - newlyRefused.maxCostWei,
  ),
  ...inCoins(
    'spent',
    about(schemas.wei, 'What the newly refused have cost. The newly sponsored were never mined.'),
    -210_000_000_000_000n,
    ({ newlyRefused }: ReplayResult) => -newlyRefused.spentWei,
  ),
});

const resultShape = shapeOf<ReplayResult>()({
  replayed: [schemas.count, 1200],
  unchanged: [
    record({
      sponsored: schemas.count,
      refused: schemas.count,
      otherReason: about(schemas.count, 'Of the refused: for another reason than recorded.'),
    }),
    { sponsored: 1100, refused: 99, otherReason: 0 },
  ],
  newlyRefused: [
    about(changedShape.schema, 'Was sponsored, and would be refused.'),
    changedShape.example,
    ({ newlyRefused }) => changedShape.render(newlyRefused),
  ],
  newlySponsored: [
    about(
      changedShape.schema,
      'Was refused, and would be sponsored. Counts as mined at the most that it can cost.',
    ),
    changedShape.render(none),
    ({ newlySponsored }) => changedShape.render(newlySponsored),
  ],
  difference: [
    about(differenceShape.schema, 'Proposed less recorded.'),
    differenceShape.example,
    differenceShape.render,
  ],
  wouldRefuse: [
    arrayOf(
      record({ policyId: schemas.text, reason: schemas.text, count: schemas.count }),
      'What policies in Shadow would refuse; nothing of it is refused above.',
    ),
    [],
  ],
  notReplayed: [
    arrayOf(
      record({ why: schemas.text, count: schemas.count }),
      'Operations that could not be decided again, and what their inputs lack.',
    ),
    [],
  ],
  webhookAnswers: [about(schemas.count, 'Recorded answers of webhooks that were used; none was called.'), 0],
  asRecorded: [
    about(
      schemas.count,
      'Refused as recorded, because of a deposit, share, bound or suspension that is not replayed.',
    ),
    0,
  ],
  otherConfiguration: [
    about(schemas.count, 'Recorded under another generation of the Paymaster or Chain than the present one.'),
    0,
  ],
  missingInputs: [
    about(
      schemas.count,
      'Decisions of the range that were not decided again, because no inputs of them are kept: dropped, not recorded, or refusals beyond the rate that is recorded.',
    ),
    0,
  ],
  isPastComplete: [
    { type: 'boolean', description: 'False: not all promises before the range were counted.' },
    true,
  ],
});

export const replayShape = shapeOf<ReplayStatus>()({
  id: [schemas.uuid, '0f8fad5b-d9cb-469f-a165-70867728950e'],
  state: [{ enum: ['running', 'done', 'failed', 'cancelled'] }, 'done'],
  from: [schemas.time, '2026-01-01T00:00:00.000Z'],
  to: [schemas.time, '2026-01-02T00:00:00.000Z'],
  startedAt: [schemas.time, '2026-01-05T09:00:00.000Z'],
  endedAt: [schemas.timeOrNull, '2026-01-05T09:00:12.000Z'],
  done: [about(schemas.count, 'Operations that were decided again so far.'), 1200],
  total: [about(schemas.countOrNull, 'Decisions of the range; some may have no inputs.'), 1200],
  error: [schemas.textOrNull, null],
  result: [
    orNull(resultShape.schema),
    resultShape.example,
    ({ result }) => result && resultShape.render(result),
  ],
});
