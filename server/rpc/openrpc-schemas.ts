import { accountFunctions } from '../../core/userop/account-functions.js';
import { maxReasonLength } from '../../core/policy/webhook/host-reason.js';
import { maxExpiryAsked, maxTokens } from './params.js';

const hostReason = {
  type: 'string',
  maxLength: maxReasonLength,
  description: 'WEBHOOK_REFUSED: what the host gave as its reason. Show it as plain text.',
} as const;

/** JSON Schemas of the OpenRPC document. */
export const openRpcSchemas = {
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
    type: 'object',
    description:
      'A partial user operation of EntryPoint 0.6, or of 0.7+ packed or unpacked. Unknown fields are ignored.',
    required: ['sender', 'nonce', 'callData'],
    properties: {
      sender: ref('Address'),
      nonce: ref('Quantity'),
      initCode: ref('Bytes'),
      factory: ref('Address'),
      factoryData: ref('Bytes'),
      callData: {
        ...ref('Bytes'),
        description: `A call of one of the functions by which known accounts make calls: ${[...accountFunctions.values()].map(({ signature }) => signature).join(', ')}.`,
      },
      callGasLimit: ref('Quantity'),
      verificationGasLimit: ref('Quantity'),
      preVerificationGas: ref('Quantity'),
      maxFeePerGas: ref('Quantity'),
      maxPriorityFeePerGas: ref('Quantity'),
      accountGasLimits: ref('Bytes'),
      gasFees: ref('Bytes'),
      signature: ref('Bytes'),
      eip7702Auth: { type: 'object' },
    },
  },
  Mode: { type: 'object', required: ['mode'], properties: modeProperties() },
  QuoteMode: {
    type: 'object',
    description: 'Without a mode: a sponsorship if it passes, else quotes.',
    properties: modeProperties(),
  },
  Context: {
    description:
      'The same as Mode; absent, null or without a mode it means SPONSORED, or ERC20 where it names a token.',
    oneOf: [
      { type: 'null' },
      {
        type: 'object',
        properties: {
          ...modeProperties(),
          calculateGasLimits: {
            type: 'boolean',
            default: false,
            description:
              'pm_getPaymasterData: limits that the operation lacks are found, and all signed limits are answered. Limits that it has are signed as given, always.',
          },
          token: { ...ref('Address'), description: 'Short for tokenInfo.feeTokenAddress and mode ERC20.' },
        },
      },
    ],
  },
  ExplainMode: {
    type: 'object',
    properties: {
      ...modeProperties(),
      callWebhook: { type: 'boolean', default: false, description: 'Whether webhooks are asked.' },
    },
  },
  Sponsorship: {
    type: 'object',
    additionalProperties: false,
    required: [
      'mode',
      'MODE',
      'paymasterAndData',
      'preVerificationGas',
      'verificationGasLimit',
      'callGasLimit',
    ],
    properties: {
      mode: { enum: ['SPONSORED', 'ERC20'] },
      MODE: { enum: ['SPONSORED', 'ERC20'] },
      paymasterAndData: {
        ...ref('Bytes'),
        description:
          '0x when the operation is not sponsored: the user pays. Never 0x in mode ERC20, where a refusal is an error.',
      },
      preVerificationGas: { type: 'string', pattern: '^[0-9]+$' },
      verificationGasLimit: { type: 'integer' },
      callGasLimit: { type: 'integer' },
      paymaster: { ...ref('Address'), description: 'EntryPoint 0.7+.' },
      paymasterData: ref('Bytes'),
      paymasterVerificationGasLimit: { type: 'integer' },
      paymasterPostOpGasLimit: { type: 'integer' },
      ...windowProperties(),
      openSponsorship: {
        const: true,
        description:
          'The paymaster has no contract registered and sponsors calls to any; also in the header X-Open-Sponsorship. Absent otherwise.',
      },
      reason: {
        ...ref('RefusalReason'),
        description: 'Why it is 0x; also in the header X-Sponsorship-Reason.',
      },
      webhookReason: hostReason,
    },
  },
  FeeQuotes: {
    type: 'object',
    additionalProperties: false,
    required: ['mode', 'MODE', 'paymasterAddress', 'feeQuotes', 'unsupportedTokens', 'unsupportedReasons'],
    properties: {
      mode: { const: 'ERC20' },
      MODE: { const: 'ERC20' },
      paymasterAddress: {
        ...ref('Address'),
        description: 'Whom the account has to allow to take its tokens.',
      },
      feeQuotes: {
        type: 'array',
        items: ref('FeeQuote'),
        description: 'preferredToken first, then tokenList, or all tokens where that is empty or absent.',
      },
      unsupportedTokens: {
        type: 'array',
        items: ref('Address'),
        description: 'Tokens without a quote: not served, or without a price that may be used.',
      },
      unsupportedReasons: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Why, by token: the source of the price with its age or deviation.',
      },
    },
  },
  FeeQuote: {
    type: 'object',
    additionalProperties: false,
    required: [
      'symbol',
      'decimal',
      'tokenAddress',
      'maxGasFee',
      'exchangeRate',
      'premiumPercentage',
      'validUntil',
      'logoUrl',
    ],
    properties: {
      symbol: { type: 'string' },
      decimal: { type: 'integer', minimum: 0 },
      tokenAddress: ref('Address'),
      maxGasFee: {
        type: 'number',
        exclusiveMinimum: 0,
        description:
          'Whole tokens, worst case, premium included, rounded up; covers an approve in front of the calls. Approve ceil(maxGasFee * 10^decimal).',
      },
      maxGasFeeUSD: {
        type: 'number',
        exclusiveMinimum: 0,
        description: 'Absent where no price source of the chain knows dollars.',
      },
      exchangeRate: { type: 'number', exclusiveMinimum: 0, description: 'Token base units per native coin.' },
      premiumPercentage: { type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?$' },
      validUntil: { type: 'integer', description: 'Unix seconds.' },
      logoUrl: { type: 'string', description: 'Empty where the token has no logo.' },
    },
  },
  PaymasterFields: {
    type: 'object',
    additionalProperties: false,
    oneOf: [
      { required: ['paymasterAndData'] },
      {
        required: ['paymaster', 'paymasterData', 'paymasterVerificationGasLimit', 'paymasterPostOpGasLimit'],
      },
    ],
    properties: {
      paymasterAndData: { ...ref('Bytes'), description: 'EntryPoint 0.6.' },
      paymaster: { ...ref('Address'), description: 'EntryPoint 0.7+, with the fields that follow.' },
      paymasterData: ref('Bytes'),
      paymasterVerificationGasLimit: ref('HexQuantity'),
      paymasterPostOpGasLimit: ref('HexQuantity'),
      paymasterSignature: {
        ...ref('Bytes'),
        description:
          'Only with signingPhase, where the paymasterData of the request does not end in the magic of EntryPoint 0.9: a placeholder after a commit, the signature after a finalize. The other fields then stay as the commit answered them.',
      },
      ...windowProperties(),
      isFinal: { const: false, description: 'Stub only: the signature comes with the second call.' },
      sponsor: {
        ...ref('Sponsor'),
        description: 'Stub only, mode SPONSORED: spec.sponsor of the Paymaster, where it is set.',
      },
      sponsorMetadata: {
        type: 'object',
        additionalProperties: false,
        required: ['name', 'description', 'url', 'icons'],
        description:
          'Signed data only, mode SPONSORED: spec.sponsor of the Paymaster, where it is set, in the names that AbstractionKit reads; description and url are empty.',
        properties: {
          name: { type: 'string' },
          description: { const: '' },
          url: { const: '' },
          icons: { type: 'array', items: { type: 'string' }, maxItems: 1 },
        },
      },
      preVerificationGas: {
        ...ref('HexQuantity'),
        description: 'The limits that were signed; only with calculateGasLimits: true in the context.',
      },
      verificationGasLimit: ref('HexQuantity'),
      callGasLimit: ref('HexQuantity'),
    },
  },
  Sponsor: {
    type: 'object',
    additionalProperties: false,
    required: ['name'],
    properties: {
      name: { type: 'string' },
      icon: { type: 'string', description: 'Data URI of a PNG, WebP or SVG image in base64.' },
    },
  },
  SupportedTokens: {
    description: 'In the names that AbstractionKit reads.',
    type: 'object',
    additionalProperties: false,
    required: ['paymasterMetadata', 'tokens'],
    properties: {
      paymasterMetadata: {
        type: 'object',
        additionalProperties: false,
        required: ['name', 'description', 'icons', 'address', 'sponsoredEventTopic', 'dummyPaymasterAndData'],
        properties: {
          name: { type: 'string', description: 'spec.sponsor.name of the Paymaster, else its contract.' },
          description: { type: 'string' },
          icons: { type: 'array', items: { type: 'string' } },
          address: { ...ref('Address'), description: 'Whom the account has to allow to take its tokens.' },
          sponsoredEventTopic: {
            type: 'string',
            description: 'First topic of the event about a payment in tokens; 0x where there is none.',
          },
          dummyPaymasterAndData: {
            description:
              'Stub data for a gas estimate: of mode SPONSORED where somebody would pay, else of a payment in the first token. Text on EntryPoint 0.6, the four fields later.',
            oneOf: [
              ref('Bytes'),
              {
                type: 'object',
                additionalProperties: false,
                required: [
                  'paymaster',
                  'paymasterVerificationGasLimit',
                  'paymasterPostOpGasLimit',
                  'paymasterData',
                ],
                properties: {
                  paymaster: ref('Address'),
                  paymasterVerificationGasLimit: ref('HexQuantity'),
                  paymasterPostOpGasLimit: ref('HexQuantity'),
                  paymasterData: ref('Bytes'),
                },
              },
            ],
          },
        },
      },
      tokens: {
        type: 'array',
        description: 'Tokens whose price may be used now.',
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['name', 'symbol', 'address', 'decimals', 'exchangeRate'],
          properties: {
            name: { type: 'string' },
            symbol: { type: 'string' },
            address: ref('Address'),
            decimals: { type: 'integer', minimum: 0 },
            exchangeRate: {
              ...ref('HexQuantity'),
              description: 'Token base units per 10^18 wei, premium included, rounded up.',
            },
          },
        },
      },
    },
  },
  Explanation: {
    description: 'Of mode SPONSORED.',
    type: 'object',
    required: [
      'mode',
      'sponsored',
      'paymaster',
      'steps',
      'account',
      'calls',
      'limits',
      'deposits',
      'bounds',
      'webhooks',
    ],
    properties: {
      mode: { const: 'SPONSORED' },
      ...outcomeProperties(),
      sponsored: {
        type: ['boolean', 'null'],
        description:
          'Whether a request would be answered with signed data now. Null: everything else passes, and webhooks that were not asked decide; see undecided.',
      },
      undecided: {
        type: 'array',
        items: { type: 'string' },
        description: 'Names of policies whose webhook was not asked: send callWebhook: true. Absent: none.',
      },
      account: { type: 'string' },
      calls: { type: 'array', items: { type: 'object' } },
      limits: { type: 'array', items: { type: 'object' } },
      webhooks: { type: 'array', items: { type: 'object' } },
    },
  },
  TokenExplanation: {
    description: 'Of mode ERC20.',
    type: 'object',
    additionalProperties: false,
    required: [
      'mode',
      'sponsored',
      'paymaster',
      'steps',
      'tokens',
      'losses',
      'secured',
      'bounds',
      'deposits',
    ],
    properties: {
      mode: { const: 'ERC20' },
      ...outcomeProperties(),
      tokens: {
        type: 'array',
        description: 'Those that would be quoted, in their order, each with its price or why it has none.',
        items: {
          type: 'object',
          required: ['address'],
          properties: {
            symbol: { type: 'string' },
            address: ref('Address'),
            decimals: { type: 'integer' },
            premiumPercentage: { type: 'string' },
            price: {
              type: 'object',
              required: ['source', 'exchangeRate', 'tokensPerCoin', 'observedAt', 'ageSeconds'],
            },
            refusal: { type: 'object', required: ['reason', 'detail'] },
          },
        },
      },
      fee: {
        type: 'object',
        description:
          'maxCharge: the most tokens that the contract can take for this operation. maxGasFee: what is quoted, with the gas of an approve on top.',
        required: [
          'symbol',
          'exchangeRate',
          'premiumPercentage',
          'maxCharge',
          'maxChargeBaseUnits',
          'gasForApproval',
          'maxGasFee',
        ],
      },
      losses: {
        type: 'array',
        description:
          'Coins that operations cost which paid nothing, of the account and of the contract, against the budget above which they are refused.',
        items: { type: 'object', required: ['of', 'lost', 'budget', 'resetsAt'] },
      },
      secured: {
        type: 'boolean',
        description:
          'Whether the contract would take the tokens in validation: such a payment cannot be lost.',
      },
    },
  },
  ErrorData: {
    type: 'object',
    required: ['reason', 'requestId', 'retryable'],
    properties: {
      reason: { type: 'string' },
      requestId: { type: 'string' },
      retryable: { type: 'boolean' },
      retryAfterSeconds: { type: 'number' },
      problems: { type: 'array', items: { type: 'object' } },
      webhookReason: hostReason,
      call: {
        type: 'object',
        description: 'The call that was refused, where a single one was.',
        additionalProperties: false,
        required: ['target', 'selector'],
        properties: {
          index: { type: 'integer', minimum: 0, description: 'Its place in the batch, from 0.' },
          target: ref('Address'),
          selector: ref('Bytes'),
        },
      },
    },
  },
} as const;

/** Properties of explanations in both modes. */
function outcomeProperties() {
  return {
    sponsored: {
      type: 'boolean',
      description: 'Whether a request would be answered with signed data now.',
    },
    reason: { type: 'string', description: 'Of the first step that does not pass.' },
    paymaster: { type: 'object' },
    steps: {
      type: 'array',
      items: {
        type: 'object',
        required: ['step', 'verdict'],
        properties: {
          step: { type: 'string' },
          verdict: { enum: ['pass', 'refuse', 'skipped', 'error'] },
          reason: {
            type: 'string',
            description:
              'One of RefusalReason; of an error the data.reason that a request would be answered with.',
          },
          detail: { type: 'string' },
          remedy: { type: 'string' },
        },
      },
    },
    gas: { type: 'object' },
    deposits: { type: 'array', items: { type: 'object' } },
    bounds: {
      type: 'array',
      description:
        'What may be promised at once, against what other operations that are not mined yet take, with the losses of the day where they count. Coins as decimal text, operations as numbers.',
      items: { type: 'object', required: ['of', 'unit', 'taken', 'most'] },
    },
  } as const;
}

/** Properties that only accompany signed data. */
function windowProperties() {
  return {
    validUntil: { type: 'integer', description: 'Unix seconds until which the signed data are valid.' },
    expiryAsked: {
      type: 'integer',
      description: 'The expiryDuration that was asked for, where the data are valid for a shorter time.',
    },
  } as const;
}

function modeProperties() {
  return {
    mode: { type: 'string', description: 'SPONSORED (or SPONSORSHIP) or ERC20, in any case.' },
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
    signingPhase: {
      enum: ['commit', 'finalize'],
      description:
        'Only for pm_getPaymasterData and its stub, for versions on EntryPoint 0.9 whose contract reads a separate paymaster signature. commit reserves and answers a placeholder; the account signs; finalize, within 60 seconds, gets the same operation with the signature of the account and the fields that the commit answered, and answers the signature. Absent: signed at once.',
    },
    tokenInfo: {
      type: 'object',
      description: 'Mode ERC20; a quote reads the first two, a payment the last, an explanation all.',
      properties: {
        preferredToken: { type: 'string' },
        tokenList: { type: 'array', maxItems: maxTokens, items: { type: 'string' } },
        feeTokenAddress: { type: 'string' },
      },
    },
    sponsorshipInfo: {
      type: 'object',
      description: 'Mode SPONSORED.',
      properties: { webhookData: { type: 'object' }, smartAccountInfo: { type: 'object' } },
    },
  } as const;
}

function ref<Name extends string>(name: Name) {
  return { $ref: `#/components/schemas/${name}` } as const;
}
