/** JSON Schema 2020-12, as OpenAPI 3.1 embeds it. */
export type JsonSchema = { readonly [keyword: string]: unknown };

const text = { type: 'string' } as const;
const names = { type: 'array', items: text } as const;
const chainId = { type: 'integer', minimum: 1 } as const;
const uuid = {
  type: 'string',
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
} as const;
const address = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' } as const;

const paymaster = record({ name: text, chainId, apiKey: text });
const paymasterWithId = record({ name: text, chainId, apiKey: text, paymasterId: uuid });
const contract = record({ name: text, address, abi: text, whitelistedMethods: names, methods: names });

const limitData = record({
  type: { enum: ['PAYMASTER', 'SMART_ACCOUNT'] },
  cycleDuration: record({ value: { type: 'integer', minimum: 1 }, unit: { enum: ['hour', 'day'] } }),
  threshold: { type: 'number', minimum: 0 },
  thresholdType: { enum: ['COUNT', 'NATIVE_ASSET'] },
  startTimeInEpoch: { type: 'integer', description: 'Epoch milliseconds.' },
  durationInMs: { type: 'integer', minimum: 3_600_000 },
});
const webhookOptions = {
  timeoutSeconds: { type: 'number', minimum: 0.5, maximum: 10 },
  method: { enum: ['POST', 'GET'] },
  onError: {
    enum: ['Deny', 'Allow'],
    description:
      'What a failing webhook means. Allow means that anyone who can overload your host is sponsored: only spending limits bound what that costs.',
  },
};
const webhookData = record({ url: text }, webhookOptions);
const newWebhookData = record({ url: text, signingKey: text }, webhookOptions);
const deploymentData = record({ operator: { const: 'walletDeployment' } });
const contractData = record({ address, whitelistedMethods: names, methods: names });

const limit = policy('PAYMASTER_SA_LIMIT', limitData);
const deployment = policy('WALLET_DEPLOYMENT', deploymentData);

/** `data` of each operation; those that answer none are absent. */
export const dataSchemas: Readonly<Record<string, JsonSchema>> = {
  listPaymasters: { type: 'array', items: paymaster },
  createPaymaster: paymasterWithId,
  listSmartContracts: { type: 'array', items: contract },
  updateSmartContract: contract,
  sendFundingMessage: record({ fundingMessage: text }),
  updatePaymaster: paymasterWithId,
  createPolicy: { oneOf: [limit, policy('WEBHOOK', newWebhookData), deployment] },
  listPolicies: {
    type: 'array',
    items: {
      oneOf: [limit, policy('WEBHOOK', webhookData), deployment, policy('SMART_CONTRACT', contractData)],
    },
  },
};

export const errorSchema: JsonSchema = record({
  statusCode: { type: 'integer', description: 'The HTTP status, except 400 where a contract is not found.' },
  message: text,
});

function policy(policyType: string, policyData: JsonSchema): JsonSchema {
  return record({
    _id: uuid,
    name: text,
    policyType: { const: policyType },
    organisationId: text,
    paymasterId: uuid,
    createdBy: text,
    chainId,
    active: { type: 'boolean' },
    policyData,
  });
}

function record(
  required: Readonly<Record<string, JsonSchema>>,
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  return {
    type: 'object',
    required: Object.keys(required),
    properties: { ...required, ...optional },
    additionalProperties: false,
  };
}
