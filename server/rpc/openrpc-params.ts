import { arrayOf, openRecord, reference, type JsonSchema } from '../../core/schema/json-schema.js';
import { accountFunctions } from '../../core/userop/account-functions.js';
import { maxExpiryAsked, maxTokens } from './params.js';

const text = { type: 'string' };
const quantity = reference('Quantity');
const bytes = reference('Bytes');

/** Members of the second parameter, in all its forms. */
const modeMembers = {
  mode: { ...text, description: 'SPONSORED (or SPONSORSHIP) or ERC20, in any case.' },
  calculateGasLimits: {
    type: 'boolean',
    description: 'Absent: false when all limits are given, else true.',
  },
  expiryDuration: {
    type: 'integer',
    minimum: 1,
    maximum: maxExpiryAsked,
    default: 300,
    description: 'Seconds. Shortened to what chain and paymaster allow, 600 in mode ERC20.',
  },
  sponsorshipPolicyId: {
    ...text,
    description:
      'The campaign whose policies judge the request, beside those without a campaign. Required while policies of the paymaster have campaigns, unless it says withoutCampaign: Allow.',
  },
  signingPhase: {
    enum: ['commit', 'finalize'],
    description:
      'Only for pm_getPaymasterData and its stub, for versions on EntryPoint 0.9 whose contract reads a separate paymaster signature. commit reserves and answers a placeholder; the account signs; finalize, within 60 seconds, gets the same operation with the signature of the account and the fields that the commit answered, and answers the signature. Absent: signed at once.',
  },
  otherwise: {
    ...openRecord(
      {
        mode: { const: 'ERC20' },
        feeTokenAddress: reference('Address'),
        maxTokenAmount: reference('Quantity', 'The most that the payment may take, in base units.'),
      },
      {},
    ),
    description:
      'Mode SPONSORED: what the account pays where a limit, window, sender, contract or deposit refuses. pm_getPaymasterData stays in the mode of the stub that the operation carries.',
  },
  tokenInfo: {
    ...openRecord(
      {},
      {
        preferredToken: text,
        tokenList: { ...arrayOf(text), maxItems: maxTokens },
        feeTokenAddress: text,
      },
    ),
    description: 'Mode ERC20; a quote reads the first two, a payment the last, an explanation all.',
  },
  sponsorshipInfo: {
    ...openRecord({}, { webhookData: { type: 'object' }, smartAccountInfo: { type: 'object' } }),
    description: 'Mode SPONSORED.',
  },
};

/** JSON Schemas of the parameters, and of the texts that parameters and answers share. */
export const paramSchemas: Readonly<Record<string, JsonSchema>> = {
  Address: { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' },
  Bytes: { type: 'string', pattern: '^0x([0-9a-fA-F]{2})*$' },
  Quantity: {
    description: '0x hex, decimal text or a safe integer; "0x" means missing.',
    oneOf: [
      { type: 'string', pattern: '^(0x[0-9a-fA-F]*|[0-9]+)$' },
      { type: 'integer', minimum: 0 },
    ],
  },
  HexQuantity: { type: 'string', pattern: '^0x(0|[1-9a-f][0-9a-f]*)$' },
  UserOperation: {
    description:
      'A partial user operation of EntryPoint 0.6, or of 0.7+ packed or unpacked. Unknown fields are ignored.',
    ...openRecord(
      {
        sender: reference('Address'),
        nonce: quantity,
        callData: reference(
          'Bytes',
          `A call of one of the functions by which known accounts make calls: ${[...accountFunctions.values()].map(({ signature }) => signature).join(', ')}.`,
        ),
      },
      {
        initCode: bytes,
        factory: reference('Address'),
        factoryData: bytes,
        callGasLimit: quantity,
        verificationGasLimit: quantity,
        preVerificationGas: quantity,
        maxFeePerGas: quantity,
        maxPriorityFeePerGas: quantity,
        accountGasLimits: bytes,
        gasFees: bytes,
        paymasterVerificationGasLimit: reference(
          'Quantity',
          'EntryPoint 0.7+. In mode SPONSORED signed as given from the least that the contract needs to 100000 above our own figure; elsewhere our own is signed, and pm_getPaymasterData refuses.',
        ),
        paymasterPostOpGasLimit: reference('Quantity', 'The same.'),
        signature: bytes,
        eip7702Auth: { type: 'object' },
      },
    ),
  },
  Mode: { ...openRecord({}, modeMembers), required: ['mode'] },
  QuoteMode: {
    description: 'Without a mode: a sponsorship if it passes, else quotes.',
    ...openRecord({}, modeMembers),
  },
  Context: {
    description:
      'The same as Mode; absent, null or without a mode it means SPONSORED, or ERC20 where it names a token.',
    oneOf: [
      { type: 'null' },
      openRecord(
        {},
        {
          ...modeMembers,
          calculateGasLimits: {
            type: 'boolean',
            default: false,
            description:
              'pm_getPaymasterData: limits that the operation lacks are found, and all signed limits are answered. Limits that it has are signed as given, always.',
          },
          token: reference('Address', 'Short for tokenInfo.feeTokenAddress and mode ERC20.'),
          erc20Context: {
            ...openRecord(
              { tokenAddress: reference('Address') },
              {
                maxTokenAmount: reference('Quantity', 'The most that the payment may take, in base units.'),
                permit: { type: 'null' },
              },
            ),
            description: "As Alchemy's clients send it: mode ERC20 with this token. A permit is refused.",
          },
          policyId: {
            oneOf: [text, arrayOf(text)],
            description:
              'Short for sponsorshipPolicyId, where policies have campaigns; of a list the first active one.',
          },
          webhookData: { ...text, description: 'What hosts of webhooks get as data, as text.' },
        },
      ),
    ],
  },
  StateOverrides: { type: 'object', description: 'As of eth_call; for the simulation alone.' },
  PolicyIds: { ...arrayOf(text), maxItems: 20 },
  QuotedTokens: openRecord({ tokens: { ...arrayOf(reference('Address')), maxItems: maxTokens } }, {}),
  ZeroDevRequest: openRecord(
    { chainId: quantity, userOp: { type: 'object' }, entryPointAddress: reference('Address') },
    {
      gasTokenData: openRecord({ tokenAddress: reference('Address', 'Mode ERC20 with this token.') }, {}),
      shouldOverrideFee: {
        type: 'boolean',
        default: false,
        description: 'Fees of the operation give way to ours.',
      },
      shouldConsume: { const: true, description: 'Whatever is signed counts.' },
    },
  ),
  AlchemyRequest: openRecord(
    { entryPoint: reference('Address'), userOperation: { type: 'object' } },
    {
      policyId: { oneOf: [text, arrayOf(text)], description: 'The campaign, where policies have campaigns.' },
      dummySignature: bytes,
      overrides: {
        type: 'object',
        description:
          'By the names of fees and limits: a value, which is signed as given, or {"multiplier": 1 to 10} of what we find.',
      },
      erc20Context: { type: 'object', description: 'As in a context.' },
      webhookData: text,
    },
  ),
  ExplainMode: openRecord(
    {},
    {
      ...modeMembers,
      callWebhook: { type: 'boolean', default: false, description: 'Whether webhooks are asked.' },
    },
  ),
};
