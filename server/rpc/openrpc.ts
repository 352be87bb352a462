import { unusableReasons } from '../../core/config/chain-config.js';
import { rpcRows } from '../../core/error-codes.js';
import { errorReasons } from '../../core/error-reasons.js';
import { conditionReasons, type ReasonText } from '../../core/meta/condition-reasons.js';
import { refusals } from '../../core/refusal.js';
import { arrayOf, reference, type JsonSchema } from '../../core/schema/json-schema.js';
import type { ServedMethods } from './methods.js';
import { rpcExamples, type RpcExample } from './openrpc-examples.js';
import { answerSchemas } from './openrpc-answers.js';
import { explanationSchemas } from './openrpc-explanations.js';
import { paramSchemas } from './openrpc-params.js';

/**
 * The OpenRPC description of the JSON-RPC API, served at `/openrpc.json`. Error codes and refusal reasons come from the
 * tables that the code answers from. A new method does not compile until it is described here.
 */
export function createOpenRpc(): object {
  return {
    openrpc: '1.3.2',
    info: {
      title: 'Paymaster JSON-RPC API',
      version: '1',
      description:
        'POST /api/v1/{chainId}/{apiKey} or /api/v2/{chainId}/{apiKey}; without the key in the address it is sent in the ' +
        'header apiKey. Batches are answered with HTTP 200. Errors of single calls are HTTP 400, 401 (key), 413 (size) or ' +
        '429 (rate); the forms that name an EntryPoint answer them with HTTP 200.',
    },
    methods: Object.entries(descriptions).map(([name, description]) => ({
      name,
      paramStructure: 'by-position',
      errors: errorObjects(),
      ...description,
      examples: [renderExample(name, description)],
    })),
    components: {
      schemas: {
        ...paramSchemas,
        ...answerSchemas,
        ...explanationSchemas,
        RefusalReason: renderEnum(refusalTexts()),
        ErrorReason: renderEnum(reasonTexts()),
      },
    },
  };
}

const operation = parameter('userOp', 'UserOperation');
const modeOrEntryPoint = {
  ...parameter('mode', 'Mode'),
  schema: { oneOf: [reference('Mode'), reference('Address', 'The EntryPoint, before a context.')] },
};
const entryPoint = parameter('entryPoint', 'Address');
const context = { ...parameter('context', 'Context'), required: false };
const erc7677Params = [operation, entryPoint, parameter('chainId', 'Quantity'), context];

const ofBundlers = 'Passed to the bundlers of spec.bundlers of the Chain, whose errors keep code and data.';
const found = result({ type: ['object', 'null'] });

type Description = { readonly summary: string; readonly params: readonly object[]; readonly result: object };

const descriptions: Readonly<Record<keyof ServedMethods, Description>> = {
  pm_sponsorUserOperation: {
    summary:
      'Computes paymasterAndData for an operation, paid by the sponsor or in a token. Params may also be [userOp, entryPoint, context], ' +
      'with the context of pm_getPaymasterData: then the answer is OperationFields, a refusal is error -32501, and of each gas limit the larger ' +
      'of given and found is signed, unless calculateGasLimits says true (those found) or false (those given). In mode ERC20 a refusal is an error, too.',
    params: [operation, modeOrEntryPoint, context],
    result: result({ oneOf: [reference('Sponsorship'), reference('OperationFields')] }),
  },
  pm_getFeeQuoteOrData: {
    summary:
      'Mode ERC20: what the operation may cost at most in each token. Mode SPONSORED: the same as pm_sponsorUserOperation.',
    params: [operation, parameter('mode', 'QuoteMode')],
    result: result({ oneOf: [reference('Sponsorship'), reference('FeeQuotes')] }),
  },
  pm_getPaymasterStubData: {
    summary: 'ERC-7677: data of the final shape for gas estimation, signed by nobody. Reserves nothing.',
    params: erc7677Params,
    result: result('PaymasterFields'),
  },
  pm_getPaymasterData: {
    summary:
      'ERC-7677: signed data for exactly the gas limits of the operation. With calculateGasLimits: true in the context those that it lacks are found, and all are answered. With signingPhase in the context it signs in two phases, the second one after the account.',
    params: erc7677Params,
    result: result('PaymasterFields'),
  },
  pm_explainSponsorship: {
    summary:
      'Every rule, call, counter and deposit that decides about an operation, in mode ERC20 the tokens, their prices, the fee and whether ' +
      'it would be paid, and what would make it pass. Reserves nothing. Needs the header authToken.',
    params: [operation, parameter('mode', 'ExplainMode')],
    result: result({ oneOf: [reference('Explanation'), reference('TokenExplanation')] }),
  },
  pm_chainId: {
    summary: 'The chain of the paymaster.',
    params: [],
    result: result('HexQuantity'),
  },
  pm_supportedEntryPoints: {
    summary: 'The EntryPoints that the paymaster signs for.',
    params: [],
    result: result(arrayOf(reference('Address'))),
  },
  pm_supportedERC20Tokens: {
    summary:
      'Tokens that pay for gas, with their present rate, and stub data for a gas estimate, as AbstractionKit reads them.',
    params: [{ ...parameter('entryPoint', 'Address'), required: false }],
    result: result('SupportedTokens'),
  },
  pm_validateSponsorshipPolicies: {
    summary:
      "As Pimlico's clients ask: those of the named campaigns with which nothing refuses the operation that the stub stage of ERC-7677 judges. At most 20.",
    params: [operation, entryPoint, { ...parameter('sponsorshipPolicyIds', 'PolicyIds') }],
    result: result('ValidPolicies'),
  },
  pimlico_getTokenQuotes: {
    summary:
      "As Pimlico's clients ask: what a client computes the allowance from, (gas + postOpGas) × maxFeePerGas × exchangeRate / 10^18. A token without a usable price has no quote.",
    params: [parameter('tokens', 'QuotedTokens'), entryPoint, parameter('chainId', 'Quantity')],
    result: result('TokenQuotes'),
  },
  zd_sponsorUserOperation: {
    summary:
      "As ZeroDev's clients ask, once: of each limit the larger of given and found is signed, and fees that are missing are ours. A refusal is error -32501.",
    params: [parameter('request', 'ZeroDevRequest')],
    result: result('OperationWithFees'),
  },
  alchemy_requestGasAndPaymasterAndData: {
    summary:
      "As Alchemy's clients ask, once: limits and fees that are missing are found. A refusal is error -32501.",
    params: [parameter('request', 'AlchemyRequest')],
    result: result('OperationWithFees'),
  },
  zd_getUserOperationGasPrice: {
    summary: "As ZeroDev's clients ask: fees with which an operation is mined now, the same for each speed.",
    params: [],
    result: result('GasPrices'),
  },
  biconomy_getGasFeeValues: {
    summary: "The same, as the vendor's clients ask.",
    params: [],
    result: result('GasPrices'),
  },
  rundler_maxPriorityFeePerGas: {
    summary: "As Alchemy's clients ask: the tip of those fees.",
    params: [],
    result: result('HexQuantity'),
  },
  eth_chainId: { summary: 'As pm_chainId.', params: [], result: result('HexQuantity') },
  eth_supportedEntryPoints: {
    summary: 'As pm_supportedEntryPoints.',
    params: [],
    result: result(arrayOf(reference('Address'))),
  },
  eth_estimateUserOperationGas: {
    summary: `${ofBundlers} Only with paymaster data of this address: those of pm_getPaymasterStubData, or signed ones while they are promised. An operation that names no paymaster is estimated with the stub of pm_supportedERC20Tokens.`,
    params: [operation, entryPoint, { ...parameter('stateOverrides', 'StateOverrides'), required: false }],
    result: result({ type: 'object' }),
  },
  eth_sendUserOperation: {
    summary: `${ofBundlers} Only exactly an operation that was signed here; any other is error OPERATION_NOT_OURS, whose reason says what is wrong.`,
    params: [operation, entryPoint],
    result: result('Bytes'),
  },
  eth_getUserOperationByHash: {
    summary: `${ofBundlers} Null where the operation names no contract of ours.`,
    params: [parameter('userOpHash', 'Bytes')],
    result: found,
  },
  eth_getUserOperationReceipt: {
    summary: `${ofBundlers} Null where the operation names no contract of ours, and before it is mined.`,
    params: [parameter('userOpHash', 'Bytes')],
    result: found,
  },
  pimlico_getUserOperationGasPrice: {
    summary: `${ofBundlers} Fees that the bundler takes, where it knows the method.`,
    params: [],
    result: result({ type: 'object' }),
  },
};

function renderExample(name: string, { params }: Description): object {
  const example: RpcExample | undefined = Object.hasOwn(rpcExamples, name)
    ? rpcExamples[name as keyof ServedMethods]
    : undefined;
  const names = params.map((each) => ('name' in each ? each.name : ''));
  return {
    name,
    params: example?.params.map((value, index) => ({ name: names[index], value })) ?? [],
    result: { name: 'result', value: example?.result },
  };
}

function parameter(name: string, schema: string) {
  return { name, required: true, schema: reference(schema) };
}

/** `schema`: the name of one, or itself. */
function result(schema: string | JsonSchema): object {
  return { name: 'result', schema: typeof schema === 'string' ? reference(schema) : schema };
}

/** Every code once; `data.reason` distinguishes errors with the same code. */
function errorObjects(): readonly object[] {
  const reasons = Map.groupBy(rpcRows, ([, { code }]) => code);
  return [...reasons].map(([code, rows]) => ({
    code,
    message: rows.map(([name]) => name).join(', '),
    data: reference('ErrorData'),
  }));
}

type Texts = readonly (readonly [name: string, text: string])[];

function refusalTexts(): Texts {
  return Object.entries(refusals).map(([reason, { text }]) => [reason, text]);
}

/** Every value of `data.reason`, from the tables that the code answers from. An error without a reason has its code there. */
function reasonTexts(): Texts {
  const conditions = [conditionReasons.Accepted, conditionReasons.ResolvedRefs].flatMap((reasons): Texts =>
    Object.entries<ReasonText>(reasons).flatMap(([reason, { status, text }]) =>
      status === 'False' ? [[reason, text]] : [],
    ),
  );
  const texts = new Map([
    ...[...rpcRows].map(([code, { text }]) => [code, text] as const),
    ...conditions,
    ...unusableReasons.map(
      (reason) => [reason, 'The contract of the version cannot be used now; the message says why.'] as const,
    ),
    ['TooLarge', conditionReasons.Programmed.TooLarge.text] as const,
    ['Deleted', 'The paymaster was deleted.'] as const,
    ...Object.entries(errorReasons).map(([reason, { text }]) => [reason, text] as const),
    ...refusalTexts(),
  ]);
  return [...texts];
}

function renderEnum(texts: Texts): object {
  return {
    type: 'string',
    enum: texts.map(([name]) => name),
    description: texts.map(([name, text]) => `${name}: ${text}`).join('\n'),
  };
}
