/** What a request and its answer look like: `body` is sent, `data` is answered; a test checks both against the schemas. */
export type Example = { readonly body?: object; readonly data?: unknown };

const paymasterId = '3f0f2c2e-8f0a-5b7c-9a51-0f3b1f1f6a11';
const address = '0xD9320514462f98Cf03c32d2FB3d3C608bBCd8F55';
const abi = '[{"type":"function","name":"mint","stateMutability":"nonpayable","inputs":[],"outputs":[]}]';
const paymaster = {
  name: 'my dapp',
  chainId: 31337,
  apiKey: 'pTQl6ddXB.13961889-a442-4ec0-8392-8b5adf8b1ab6',
};
const contract = { name: 'shop', address, abi, whitelistedMethods: ['mint'], methods: ['mint'] };
const limitData = {
  type: 'SMART_ACCOUNT',
  cycleDuration: { value: 1, unit: 'day' },
  threshold: 0.05,
  thresholdType: 'NATIVE_ASSET',
};
const limit = {
  _id: '7e0b4a52-6d7f-5d8a-9a51-0f3b1f1f6a11',
  name: 'gas per user and day',
  policyType: 'PAYMASTER_SA_LIMIT',
  organisationId: 'acme',
  paymasterId,
  createdBy: 'ci',
  chainId: 31337,
  active: true,
  policyData: { ...limitData, startTimeInEpoch: 1_767_225_600_000, durationInMs: 86_400_000 },
};

/** By operationId. */
export const examples: Readonly<Record<string, Example>> = {
  listPaymasters: { data: [paymaster] },
  createPaymaster: {
    body: { name: 'my dapp', type: 'HYBRID', chainId: 31337, version: '1.1.0' },
    data: { ...paymaster, paymasterId },
  },
  createSmartContract: { body: { name: 'shop', address, abi, whitelistedMethods: ['mint'] } },
  listSmartContracts: { data: [contract] },
  updateSmartContract: { body: { address, whitelistedMethods: ['mint'] }, data: contract },
  deleteSmartContract: { body: { address } },
  sendFundingMessage: {
    data: { fundingMessage: 'Allow the paymaster shop of acme on chain 31337 to spend this deposit …' },
  },
  updatePaymaster: {
    body: { paymasterId, type: 'paymasterFundingId', signature: '0x…', address },
    data: { ...paymaster, paymasterId },
  },
  createPolicy: {
    body: { name: limit.name, policyType: limit.policyType, policyData: limitData },
    data: limit,
  },
  listPolicies: { data: [limit] },
  updateLimit: { body: { threshold: 0.1 } },
};
