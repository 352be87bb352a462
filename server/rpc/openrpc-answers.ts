import type { GasLimits } from '../../core/entry-point/user-operation.js';
import { maxReasonLength } from '../../core/policy/webhook/host-reason.js';
import type { FeeQuote } from '../../core/pricing/fee-quote.js';
import type { SponsorInfo } from '../../core/resources/paymaster.js';
import {
  arrayOf,
  openRecord,
  record,
  recordOf,
  reference,
  type JsonSchema,
} from '../../core/schema/json-schema.js';

const text = { type: 'string' };
const integer = { type: 'integer' };
const count = { type: 'integer', minimum: 0 };
const address = reference('Address');
const bytes = reference('Bytes');
const quantity = reference('HexQuantity');
const modes = { enum: ['SPONSORED', 'ERC20'] };
const positive = (description: string) => ({ type: 'number', exclusiveMinimum: 0, description });
const spender = reference('Address', 'Whom the account has to allow to take its tokens.');

const webhookReason = {
  ...text,
  maxLength: maxReasonLength,
  description: 'WEBHOOK_REFUSED: what the host gave as its reason. Show it as plain text.',
};

/** Only accompanies signed data. */
const signedMembers = {
  validUntil: { ...integer, description: 'Unix seconds until which the signed data are valid.' },
  expiryAsked: {
    ...integer,
    description: 'The expiryDuration that was asked for, where the data are valid for a shorter time.',
  },
  openSponsorship: {
    const: true,
    description:
      'The paymaster has no contract registered and sponsors calls to any; also in the header X-Open-Sponsorship. Absent otherwise.',
  },
};

/** Of EntryPoint 0.7 and later, as ERC-7677 names them. */
const unpackedFields = {
  paymaster: address,
  paymasterData: bytes,
  paymasterVerificationGasLimit: quantity,
  paymasterPostOpGasLimit: quantity,
};

/** JSON Schemas of answers and of the data of errors. */
export const answerSchemas: Readonly<Record<string, JsonSchema>> = {
  Sponsorship: record(
    {
      mode: modes,
      MODE: modes,
      paymasterAndData: reference(
        'Bytes',
        '0x when the operation is not sponsored: the user pays. Never 0x in mode ERC20, where a refusal is an error.',
      ),
      preVerificationGas: { ...text, pattern: '^[0-9]+$' },
      verificationGasLimit: integer,
      callGasLimit: integer,
    },
    {
      ...unpackedFields,
      paymaster: reference('Address', 'EntryPoint 0.7+.'),
      paymasterVerificationGasLimit: integer,
      paymasterPostOpGasLimit: integer,
      ...signedMembers,
      reason: reference('RefusalReason', 'Why it is 0x; also in the header X-Sponsorship-Reason.'),
      webhookReason,
      otherwise: {
        description: 'Why there is no payment in tokens either, where the request asked for one.',
        ...record({ reason: text }),
      },
      insteadOf: {
        description: 'In tokens because of `otherwise`: why the operation is not sponsored.',
        ...record({ mode: { const: 'SPONSORED' }, reason: reference('RefusalReason') }),
      },
    },
  ),
  FeeQuotes: record({
    mode: { const: 'ERC20' },
    MODE: { const: 'ERC20' },
    paymasterAddress: spender,
    feeQuotes: arrayOf(
      reference('FeeQuote'),
      'preferredToken first, then tokenList, or all tokens where that is empty or absent.',
    ),
    unsupportedTokens: arrayOf(
      address,
      'Tokens without a quote: not served, or without a price that may be used.',
    ),
    unsupportedReasons: {
      type: 'object',
      additionalProperties: text,
      description: 'Why, by token, for example how old its price is.',
    },
  }),
  FeeQuote: recordOf<FeeQuote>(
    {
      symbol: text,
      decimal: count,
      tokenAddress: address,
      maxGasFee: positive(
        'Whole tokens, worst case, premium included, rounded up; covers an approve in front of the calls. Approve ceil(maxGasFee * 10^decimal).',
      ),
      exchangeRate: positive('Token base units per native coin.'),
      premiumPercentage: { ...text, pattern: '^[0-9]+(\\.[0-9]+)?$' },
      validUntil: { ...integer, description: 'Unix seconds.' },
      logoUrl: { ...text, description: 'Empty where the token has no logo.' },
    },
    { maxGasFeeUSD: positive('Absent where no price source of the chain knows dollars.') },
  ),
  OperationFields: {
    description: 'Fields of the operation alone, for a client that spreads them into it.',
    oneOf: [{ required: ['paymasterAndData'] }, { required: Object.keys(unpackedFields) }],
    ...record(
      { preVerificationGas: quantity, verificationGasLimit: quantity, callGasLimit: quantity },
      {
        paymasterAndData: reference('Bytes', 'EntryPoint 0.6.'),
        ...unpackedFields,
        paymaster: reference('Address', 'EntryPoint 0.7+, with the fields that follow.'),
      },
    ),
  },
  OperationWithFees: {
    description: 'As OperationFields, with the fees that were signed.',
    oneOf: [{ required: ['paymasterAndData'] }, { required: Object.keys(unpackedFields) }],
    ...record(
      {
        preVerificationGas: quantity,
        verificationGasLimit: quantity,
        callGasLimit: quantity,
        maxFeePerGas: quantity,
        maxPriorityFeePerGas: quantity,
      },
      { paymasterAndData: reference('Bytes', 'EntryPoint 0.6.'), ...unpackedFields },
    ),
  },
  GasPrices: record({ slow: reference('Fees'), standard: reference('Fees'), fast: reference('Fees') }),
  Fees: record({ maxFeePerGas: quantity, maxPriorityFeePerGas: quantity }),
  ValidPolicies: arrayOf(
    record({
      sponsorshipPolicyId: text,
      data: record({
        name: text,
        author: { type: ['string', 'null'], description: 'The name of the sponsor.' },
        icon: { type: ['string', 'null'] },
        description: { type: 'null' },
      }),
    }),
  ),
  TokenQuotes: record({
    quotes: arrayOf(
      record({
        paymaster: spender,
        token: address,
        postOpGas: quantity,
        exchangeRate: reference('HexQuantity', 'Base units per 10^18 wei, premium included.'),
        exchangeRateNativeToUsd: reference(
          'HexQuantity',
          'Dollars per 10^18 wei with six decimals; 0x0: not known.',
        ),
      }),
    ),
  }),
  PaymasterFields: {
    oneOf: [{ required: ['paymasterAndData'] }, { required: Object.keys(unpackedFields) }],
    ...record(
      {},
      {
        paymasterAndData: reference('Bytes', 'EntryPoint 0.6.'),
        ...unpackedFields,
        paymaster: reference('Address', 'EntryPoint 0.7+, with the fields that follow.'),
        paymasterSignature: reference(
          'Bytes',
          'Only with signingPhase, where the paymasterData of the request does not end in the magic of EntryPoint 0.9: a placeholder after a commit, the signature after a finalize. The other fields then stay as the commit answered them.',
        ),
        ...signedMembers,
        isFinal: { const: false, description: 'Stub only: the signature comes with the second call.' },
        sponsor: reference(
          'Sponsor',
          'Stub only, mode SPONSORED: spec.sponsor of the Paymaster, where it is set.',
        ),
        sponsorMetadata: {
          description:
            'Signed data only, mode SPONSORED: spec.sponsor of the Paymaster, where it is set, in the names that AbstractionKit reads; description and url are empty.',
          ...record({
            name: text,
            description: { const: '' },
            url: { const: '' },
            icons: { ...arrayOf(text), maxItems: 1 },
          }),
        },
        ...limits(),
      },
    ),
  },
  Sponsor: recordOf<SponsorInfo>(
    { name: text },
    { icon: { ...text, description: 'Data URI of a PNG, WebP or SVG image in base64.' } },
  ),
  SupportedTokens: {
    description: 'In the names that AbstractionKit reads.',
    ...record({
      paymasterMetadata: record({
        name: { ...text, description: 'spec.sponsor.name of the Paymaster, else its contract.' },
        description: text,
        icons: arrayOf(text),
        address: spender,
        sponsoredEventTopic: {
          ...text,
          description: 'First topic of the event about a payment in tokens; 0x for a contract without one.',
        },
        dummyPaymasterAndData: {
          description:
            'Stub data for a gas estimate: of mode SPONSORED where somebody would pay, else of a payment in the first token. Text on EntryPoint 0.6, the four fields later.',
          oneOf: [bytes, record(unpackedFields)],
        },
      }),
      tokens: arrayOf(
        record({
          name: text,
          symbol: text,
          address,
          decimals: count,
          exchangeRate: reference(
            'HexQuantity',
            'Token base units per 10^18 wei, premium included, rounded up.',
          ),
        }),
        'Tokens whose price may be used now.',
      ),
    }),
  },
  ErrorData: openRecord(
    { reason: reference('ErrorReason'), requestId: text, retryable: { type: 'boolean' } },
    {
      retryAfterSeconds: { type: 'number' },
      remedy: {
        ...text,
        description: 'What the caller can do about it, where more is known than the message says.',
      },
      problems: arrayOf({ type: 'object' }),
      webhookReason,
      otherwise: { ...text, description: 'Why there is no payment in tokens either.' },
      retry: {
        const: 'ERC20',
        description:
          'pm_getPaymasterData with `otherwise`: a new stub would be in tokens. These data are not, since their stub said sponsored.',
      },
      call: {
        description: 'The call that was refused, where a single one was.',
        ...record(
          { target: address, selector: bytes },
          { index: { ...count, description: 'Its place in the batch, from 0.' } },
        ),
      },
    },
  ),
};

function limits(): { readonly [Limit in keyof GasLimits]: JsonSchema } {
  return {
    preVerificationGas: reference(
      'HexQuantity',
      'The limits that were signed; only with calculateGasLimits: true in the context.',
    ),
    verificationGasLimit: quantity,
    callGasLimit: quantity,
  };
}
