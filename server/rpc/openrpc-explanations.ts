import {
  arrayOf,
  openRecord,
  record,
  recordOf,
  reference,
  type JsonSchema,
} from '../../core/schema/json-schema.js';
import type { TraceStep } from '../decision/run.js';
import { ruleSchema } from '../decision/show/rule-schema.js';

const text = { type: 'string' };
const object = { type: 'object' };

/** An object that has these members; nothing more is said about them. */
const having = (...required: readonly string[]): JsonSchema => ({ ...object, required });

/** Members of both modes. */
const required = {
  paymaster: object,
  steps: arrayOf(
    recordOf<TraceStep>(
      { step: text, verdict: { enum: ['pass', 'refuse', 'skipped', 'error'] } },
      {
        reason: reference(
          'ErrorReason',
          'Of an error the data.reason that a request would be answered with.',
        ),
        detail: text,
        remedy: text,
      },
    ),
  ),
  rules: arrayOf(ruleSchema, 'Every rule of the paymaster, with what it says about the operation.'),
  deposits: arrayOf(object),
  bounds: arrayOf(
    having('of', 'unit', 'taken', 'most'),
    'What may be promised at once, against what other operations that are not mined yet take, with the losses of the day where they count. Coins as decimal text, operations as numbers. `enforcement` is Shadow for one that refuses nothing.',
  ),
};
const optional = {
  ignored: arrayOf(
    text,
    'Members of the mode object that are not known and were ignored, each with the one that was perhaps meant. Absent: none.',
  ),
  wouldRefuse: arrayOf(
    having('policyId', 'reason', 'detail'),
    'What policies in Shadow would refuse; the policyId is "contracts" for the list of contracts. Absent: nothing.',
  ),
  campaigns: {
    ...having('active'),
    description:
      'The campaign that the request names, and those with an active policy. Absent: no campaign is named or active.',
  },
  reason: { ...text, description: 'Of the first step that does not pass.' },
  gas: object,
  dataFee: {
    ...object,
    description: 'What the chain charges for posted data; absent where it charges nothing.',
  },
};

/** JSON Schemas of explanations. */
export const explanationSchemas: Readonly<Record<string, JsonSchema>> = {
  Explanation: {
    description: 'Of mode SPONSORED.',
    ...openRecord(
      {
        mode: { const: 'SPONSORED' },
        sponsored: {
          type: ['boolean', 'null'],
          description:
            'Whether a request would be answered with signed data now. Null: everything else passes, and webhooks that were not asked decide; see undecided.',
        },
        ...required,
        account: text,
        calls: arrayOf(object),
        limits: arrayOf(object),
        webhooks: arrayOf(object),
      },
      {
        ...optional,
        undecided: arrayOf(
          text,
          'Names of policies whose webhook was not asked: send callWebhook: true. Absent: none.',
        ),
      },
    ),
  },
  TokenExplanation: {
    description: 'Of mode ERC20.',
    ...record(
      {
        mode: { const: 'ERC20' },
        sponsored: {
          type: 'boolean',
          description: 'Whether a request would be answered with signed data now.',
        },
        ...required,
        tokens: arrayOf(
          openRecord(
            { address: reference('Address') },
            {
              symbol: text,
              decimals: { type: 'integer' },
              premiumPercentage: text,
              price: having('source', 'exchangeRate', 'tokensPerCoin', 'observedAt', 'ageSeconds'),
              refusal: having('reason', 'detail'),
            },
          ),
          'Those that would be quoted, in their order, each with its price or why it has none.',
        ),
        losses: arrayOf(
          having('of', 'lost', 'budget', 'resetsAt'),
          'Coins that operations cost which paid nothing, of the account and of the contract, against the budget above which they are refused.',
        ),
        secured: {
          type: 'boolean',
          description:
            'Whether the contract would take the tokens in validation: such a payment cannot be lost.',
        },
      },
      {
        ...optional,
        fee: {
          description:
            'maxCharge: the most tokens that the contract can take for this operation. maxGasFee: what is quoted, with the gas of an approve on top.',
          ...having(
            'symbol',
            'exchangeRate',
            'premiumPercentage',
            'maxCharge',
            'maxChargeBaseUnits',
            'gasForApproval',
            'maxGasFee',
          ),
        },
      },
    ),
  },
};
