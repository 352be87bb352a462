import { invalidInput, quote } from '../../../core/errors.js';
import { arrayOf, record, type JsonSchema } from '../../../core/schema/json-schema.js';
import { isObject } from '../../../core/schema/json-value.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Example, Found, Group } from '../../../core/what-if/what-if.js';
import { otherMembers } from '../../http/json.js';
import { maxTextLength, runWhatIf, type WhatIfAnswer } from '../../what-if/run.js';
import { endpoint } from '../endpoint.js';
import { instant } from '../parameters.js';
import { about, shapeOf, showsOne } from '../shape.js';
import { requireLedger } from './fair-ledger.js';
import { toRange } from './range.js';
import * as schemas from './schemas.js';

const maxDays = 31;

const groupShape = shapeOf<Group>()({
  reason: [schemas.text, 'LIMIT_REACHED'],
  day: [schemas.time, '2026-01-01T00:00:00.000Z'],
  count: [schemas.count, 3],
});

const exampleShape = shapeOf<Example & { readonly reason: string }>()({
  reason: [schemas.text, 'LIMIT_REACHED'],
  decision: [about(schemas.uuid, '`id` of the decision.'), '0193a1b2-c3d4-7e5f-8a6b-000000000001'],
  sender: [schemas.address, '0x00000000000000000000000000000000000a11ce'],
  detail: [schemas.text, '"a thousand a day": 1000 operations of 1000 operations used, needs 1 operation'],
  policyId: [schemas.textOrNull, '7e0b4a52-6d7f-5d8a-9a51-0f3b1f1f6a11'],
});

const foundShape = shapeOf<Found>()({
  count: [schemas.count, 3],
  byReasonAndDay: [
    arrayOf(groupShape.schema),
    [groupShape.example],
    ({ groups }) => groups.map(groupShape.render),
  ],
  examples: [
    arrayOf(exampleShape.schema, 'The first twenty of each reason.'),
    [exampleShape.example],
    ({ examples }) =>
      Object.entries(examples).flatMap(([reason, some]) =>
        some.map((one) => exampleShape.render({ reason, ...one })),
      ),
  ],
});
const noneFound = foundShape.render({ count: 0, groups: [], examples: {} });

const found = (name: 'wouldBeRefused' | 'wouldPass' | 'unknown', says: string, example: unknown) =>
  [
    about(foundShape.schema, says),
    example,
    (answer: WhatIfAnswer) => foundShape.render(answer[name]),
  ] as const;

const rules: JsonSchema = {
  enum: ['webhook', 'expression', 'budget', 'gasCaps', 'factories', 'sharesAndDeposits'],
};

const whatIfShape = shapeOf<WhatIfAnswer>()({
  paymasterId: [schemas.uuid, '7a1c7c2e-1111-5222-8333-444455556666'],
  since: [
    about(schemas.time, 'What was signed from here on is counted: the begin of the first window of a limit.'),
    '2026-01-01T00:00:00.000Z',
  ],
  judged: [about(schemas.count, 'Decisions of the period, without commits of two phases.'), 1200],
  stillSigned: [about(schemas.count, 'Signed, and would be as well.'), 1100],
  wouldBeRefused: found(
    'wouldBeRefused',
    'Signed, and would be refused; by the new reason.',
    foundShape.example,
  ),
  wouldPass: found('wouldPass', 'Refused, and would not be by what is judged; by the old reason.', noneFound),
  stillRefused: [about(schemas.count, 'Refused, and would be as well, or by a rule that is not judged.'), 97],
  unknown: found(
    'unknown',
    'Their cost, price or calls were not recorded; by the old reason, or `signed`.',
    noneFound,
  ),
  gaps: [
    arrayOf(
      record({
        cause: { enum: ['rate', 'space', 'signed'] },
        reason: schemas.textOrNull,
        count: schemas.count,
      }),
      'Decisions of the period that were only counted.',
    ),
    [],
    ({ gaps }) => gaps.map(({ reason = null, ...gap }) => ({ ...gap, reason })),
  ],
  notJudged: [
    arrayOf(
      record({ rule: rules, name: schemas.textOrNull }),
      'Rules that say nothing here, with the policy.',
    ),
    [{ rule: 'gasCaps', name: null }],
  ],
});

export const whatIfEndpoint = endpoint({
  operationId: 'whatIf',
  summary: 'What proposed policies and contracts of one paymaster would have done to its recorded decisions',
  method: 'post',
  path: '/what-if',
  scope: 'organisation',
  needs: ['read'],
  cost: 'whatIf',
  body: {
    schemas: [
      record(
        {
          from: schemas.time,
          to: schemas.time,
          resources: {
            description:
              'Paymaster, SmartContracts and PaymasterPolicies of one paymaster, as a text of YAML documents or as a list. Each replaces the object of its name, or is added.',
            anyOf: [schemas.text, { type: 'array', items: { type: 'object' } }],
          },
        },
        {},
      ),
    ],
    example: {
      from: '2026-01-01T00:00:00Z',
      to: '2026-01-02T00:00:00Z',
      resources:
        'apiVersion: paymasters.dev/v1alpha1\nkind: PaymasterPolicy\nmetadata: {name: daily, namespace: acme}\nspec: {…}\n',
    },
    parse: (_, body) => readBody(body),
  },
  errors: { 413: 'The body is too large.' },
  ...showsOne(whatIfShape),

  async handle(tools, { principal, body, gone }) {
    const { organisation, namespace, tenant } = principal;
    const ledger = requireLedger(tools, principal);
    const now = tools.clock.now();
    const range = toRange(body, now, { defaultDays: 1, maxDays });
    const { webhookUrls, quotas } = tools;
    const answer = await runWhatIf(
      { ...tools, ledger },
      {
        organisation,
        namespace,
        tenant,
        now,
        ...range,
        resources: body.resources,
        quotas,
        webhookUrls,
        gone,
      },
    );
    return { data: whatIfShape.render(answer) };
  },
});

type Body = { readonly from: EpochMs; readonly to: EpochMs; readonly resources: string };

const time = instant('');

function readBody(body: unknown): Body {
  const given = isObject(body) ? body : {};
  const { from, to, resources } = given;
  const [unknown] = otherMembers(given, ['from', 'to', 'resources'], 'made of from, to, resources');
  if (unknown !== undefined) throw invalidInput(unknown);
  const parseTime = (field: string, value: unknown): EpochMs => {
    const at = typeof value === 'string' ? time.parse(value) : undefined;
    if (at === undefined) throw invalidInput({ field, expected: time.expected, value: quote(value) });
    return at;
  };
  const list: readonly unknown[] | undefined = Array.isArray(resources) ? resources : undefined;
  const text = list?.map((each) => JSON.stringify(each)).join('\n---\n') ?? resources;
  if (typeof text !== 'string' || text.length > maxTextLength)
    throw invalidInput({
      field: 'resources',
      expected: `YAML text or a list of objects of at most ${maxTextLength} characters`,
    });
  return { from: parseTime('from', from), to: parseTime('to', to), resources: text };
}
