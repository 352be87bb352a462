import type { DecisionView, SettlementView } from '../../../core/ledger/query.js';
import type { DecidedCall, Decision, MinedFacts, TokenPayment } from '../../../core/ledger/record.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { hexQuantity } from '../../../core/units/hex.js';
import { toMs } from '../../../core/units/time.js';
import { formatDecimal } from '../../../core/units/wei.js';
import { recordedSteps, shownSteps } from '../../decision/show/recorded-steps.js';
import { about, inCoins, orNull, shapeOf } from '../shape.js';
import type { MethodNames } from './method-names.js';
import * as schemas from './schemas.js';

/** What accounts have paid in a token. */
export const tokenPayment = shapeOf<TokenPayment>()({
  address: [schemas.address],
  amount: [about(schemas.wei, 'In the smallest unit of the token.')],
  decimals: [schemas.integerOrNull],
  rendered: [
    schemas.textOrNull,
    undefined,
    ({ amount, decimals }) => (decimals === undefined ? null : formatDecimal(amount, decimals)),
  ],
});

const settlementShape = shapeOf<Partial<MinedFacts> & SettlementView>()({
  outcome: [{ enum: ['mined', 'expired', 'spent-elsewhere'] }],
  at: [schemas.time],
  transactionHash: [schemas.hashOrNull],
  ...inCoins('actualGasCost', schemas.wei, null, (s: Partial<MinedFacts>) => s.actualGasCostWei ?? 0n),
  actualGasUsed: [schemas.wei, undefined, ({ actualGasUsed = 0n }) => actualGasUsed],
  success: [{ type: ['boolean', 'null'], description: 'False: the call of the account reverted.' }],
  blockNumber: [schemas.integerOrNull],
  blockHash: [schemas.hashOrNull],
  logIndex: [schemas.integerOrNull],
  token: [orNull(tokenPayment.schema), undefined, ({ token }) => token && tokenPayment.render(token)],
  takenBack: [about(schemas.count, 'Settlements before this one that a reorganisation removed.')],
});

const callShape = shapeOf<DecidedCall & { readonly nameOf: MethodNames }>()({
  target: [schemas.address, '0x5fbdb2315678afecb367f032d93f642f64180aa3'],
  selector: [{ type: 'string', pattern: '^0x([0-9a-f]{8})?$' }, '0xd09de08a'],
  name: [
    about(
      schemas.textOrNull,
      'By the ABI of the registered contract; null for others, and when the ABI no longer has it.',
    ),
    'increment',
    ({ nameOf, contractId, selector }) => contractId && nameOf(contractId, selector),
  ],
  contractId: [
    about(schemas.textOrNull, 'Name of the registered contract.'),
    '0f3b1f1f-6d7f-5d8a-9a51-7e0b4a526a11',
  ],
});

type Shown = Decision &
  Pick<DecisionView, 'settlement'> & {
    readonly nameOf: MethodNames;
    /** What it is called, or was called when it was deleted. */
    readonly paymaster: string | undefined;
  };

/** A decision as the API shows it. */
export const decisionShape = shapeOf<Shown>()({
  id: [schemas.uuid, '019b76da-a800-7000-8000-000000000001'],
  at: [schemas.time, '2026-01-01T00:00:00.000Z'],
  verdict: [{ enum: ['sponsored', 'refused', 'committed'] }, 'sponsored'],
  reason: [schemas.textOrNull, null],
  detail: [schemas.textOrNull, null],
  method: [schemas.text, 'pm_sponsorUserOperation'],
  requestId: [schemas.text, '5f1c2e4a-12'],
  callerRequestId: [about(schemas.textOrNull, 'X-Request-Id of the caller, who may repeat it.'), null],
  paymasterId: [schemas.uuid, '7e0b4a52-6d7f-5d8a-9a51-0f3b1f1f6a11'],
  paymaster: [about(schemas.textOrNull, 'What it is called, or was called when it was deleted.'), 'shop'],
  chainId: [schemas.integer, 31337],
  mode: [{ enum: ['SPONSORED', 'ERC20', null] }, 'SPONSORED'],
  entryPoint: [schemas.address, '0x0000000071727de22e5e9d8baf0edac6f37da032'],
  contract: [schemas.addressOrNull, '0x00000000000000fb866daaa79352cc568a005d96'],
  fundingAddress: [schemas.addressOrNull, null],
  sender: [schemas.address, '0x1234567890123456789012345678901234567890'],
  nonce: [{ type: 'string', pattern: '^0x[0-9a-f]+$' }, '0x0', ({ nonce }) => hexQuantity(nonce)],
  userOpHash: [
    about(schemas.hashOrNull, 'Null when refused, or not known until it is mined.'),
    null,
    ({ userOpHash, settlement }) => userOpHash ?? settlement?.mined?.userOpHash,
  ],
  calls: [
    arrayOf(callShape.schema),
    [callShape.example],
    ({ calls, nameOf }) => calls.map((call) => callShape.render({ ...call, nameOf })),
  ],
  policies: [
    arrayOf(record({ policyId: schemas.text, effect: { enum: ['counted', 'refused', 'would_refuse'] } })),
    [],
    decidingPolicies,
  ],
  campaign: [
    about(schemas.textOrNull, 'The campaign that the request named, if it is known.'),
    null,
    ({ policies }) => policies.find(({ effect }) => effect === 'campaign')?.policyId,
  ],
  key: [
    about(schemas.textOrNull, 'Name of the key that asked; null: the apiKey, which has none.'),
    null,
    ({ policies }) => policies.find(({ effect }) => effect === 'key')?.policyId,
  ],
  ...inCoins('maxCost', schemas.weiOrNull, 420_000_000_000_000n),
  validUntil: [
    schemas.timeOrNull,
    '2026-01-01T00:10:00.000Z',
    ({ validUntil }) => validUntil && toMs(validUntil),
  ],
  token: [schemas.addressOrNull, null],
  settlement: [
    orNull(settlementShape.schema),
    null,
    ({ settlement }) => settlement && settlementShape.render({ ...settlement.mined, ...settlement }),
  ],
});

/** With why it was so decided. */
export const tracedShape = shapeOf<Shown>()({
  ...decisionShape.members,
  trace: [
    arrayOf(
      record(
        {
          step: {
            enum: [...shownSteps, 'policy', 'decision'],
            description:
              'A step as pm_explainSponsorship names it, then each policy with a part in it, then the verdict.',
          },
          verdict: {
            enum: [
              'pass',
              'refuse',
              'undecided',
              'counted',
              'refused',
              'would_refuse',
              'sponsored',
              'committed',
            ],
            description:
              'pass: the step did not refuse, or had nothing to decide. undecided: it comes after the refusal.',
          },
        },
        { policyId: schemas.text, reason: schemas.text, detail: schemas.text, remedy: schemas.text },
      ),
    ),
    [{ step: 'decision', verdict: 'sponsored' }],
    renderTrace,
  ],
});

/** What was decided, for one who asks why: every step with its outcome, every policy that had a part in it, and the verdict. */
function renderTrace(decision: Decision): readonly object[] {
  const { verdict, reason } = decision;
  return [
    ...recordedSteps(decision),
    ...decidingPolicies(decision).map(({ policyId, effect }) => ({
      step: 'policy',
      policyId,
      verdict: effect,
    })),
    { step: 'decision', verdict, ...(reason === undefined ? {} : { reason }) },
  ];
}

/** The campaign and the key are kept among them. */
function decidingPolicies({ policies }: Decision): Decision['policies'] {
  return policies.filter(({ effect }) => effect !== 'campaign' && effect !== 'key');
}
