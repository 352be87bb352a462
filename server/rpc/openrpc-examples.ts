import { entryPoint06 } from '../../core/entry-point/v06.js';
import type { ServedMethods } from './methods.js';

/** For each method, example params and an example result; a test checks both against the schemas. */
export type RpcExample = { readonly params: readonly unknown[]; readonly result: unknown };

const sender = '0x1234567890123456789012345678901234567890';
const contract = '0xF5ED58C7FE1A6622C1d43c5471c0721137caCDc8';
const token = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const userOp = {
  sender,
  nonce: '0x0',
  initCode: '0x',
  callData: '0xb61d27f6',
  callGasLimit: '100000',
  verificationGasLimit: '150000',
  preVerificationGas: '60000',
  maxFeePerGas: '0x77359400',
  maxPriorityFeePerGas: '0x3b9aca00',
};
const limits = { preVerificationGas: '60000', verificationGasLimit: 150_000, callGasLimit: 100_000 };
const paymasterAndData = `${contract.toLowerCase()}00` as const;
const sponsorship = {
  mode: 'SPONSORED',
  MODE: 'SPONSORED',
  paymasterAndData,
  ...limits,
  validUntil: 1_767_225_900,
};
const erc7677 = [userOp, entryPoint06.address, '0x7a69', {}];

const withFees = {
  paymasterAndData,
  preVerificationGas: '0xea60',
  verificationGasLimit: '0x249f0',
  callGasLimit: '0x186a0',
  maxFeePerGas: '0x77359400',
  maxPriorityFeePerGas: '0x3b9aca00',
};

const sponsored = { ...userOp, paymasterAndData, signature: '0x00' };
const userOpHash = '0x93c06f3f5909cc2b192713ed9bf93e3e1fde4b22fcd2466304fa404f9b80ff90';
const fees = { maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x3b9aca00' };

export const rpcExamples = {
  pm_sponsorUserOperation: {
    params: [userOp, { mode: 'SPONSORED', calculateGasLimits: false, sponsorshipInfo: { webhookData: {} } }],
    result: sponsorship,
  },
  pm_getFeeQuoteOrData: {
    params: [userOp, { mode: 'ERC20', tokenInfo: { preferredToken: token, tokenList: [] } }],
    result: {
      mode: 'ERC20',
      MODE: 'ERC20',
      paymasterAddress: contract,
      feeQuotes: [
        {
          symbol: 'DUSD',
          decimal: 6,
          tokenAddress: token,
          maxGasFee: 1.86,
          maxGasFeeUSD: 1.86,
          exchangeRate: 3_000_000_000,
          premiumPercentage: '0.1',
          validUntil: 1_767_225_660,
          logoUrl: '',
        },
      ],
      unsupportedTokens: [],
      unsupportedReasons: {},
    },
  },
  pm_getPaymasterStubData: {
    params: erc7677,
    result: { paymasterAndData, validUntil: 1_767_225_900, isFinal: false },
  },
  pm_getPaymasterData: { params: erc7677, result: { paymasterAndData, validUntil: 1_767_225_900 } },
  pm_chainId: { params: [], result: '0x7a69' },
  pm_supportedEntryPoints: { params: [], result: [entryPoint06.address] },
  pm_supportedERC20Tokens: {
    params: [entryPoint06.address],
    result: {
      paymasterMetadata: {
        name: 'My Shop',
        description: 'Vendor paymaster 1.1.0',
        icons: [],
        address: contract,
        sponsoredEventTopic: '0x',
        dummyPaymasterAndData: paymasterAndData,
      },
      tokens: [{ name: 'DUSD', symbol: 'DUSD', address: token, decimals: 6, exchangeRate: '0xb2d05e00' }],
    },
  },
  pm_validateSponsorshipPolicies: {
    params: [userOp, entryPoint06.address, ['spring', 'winter']],
    result: [
      {
        sponsorshipPolicyId: 'spring',
        data: { name: 'spring', author: 'My Shop', icon: null, description: null },
      },
    ],
  },
  pimlico_getTokenQuotes: {
    params: [{ tokens: [token] }, entryPoint06.address, '0x7a69'],
    result: {
      quotes: [
        {
          paymaster: contract,
          token,
          postOpGas: '0x9c40',
          exchangeRate: '0xb2d05e00',
          exchangeRateNativeToUsd: '0xb2d05e00',
        },
      ],
    },
  },
  zd_sponsorUserOperation: {
    params: [{ chainId: 31337, userOp, entryPointAddress: entryPoint06.address, shouldConsume: true }],
    result: withFees,
  },
  alchemy_requestGasAndPaymasterAndData: {
    params: [
      {
        policyId: 'spring',
        entryPoint: entryPoint06.address,
        userOperation: { sender, nonce: '0x0', initCode: '0x', callData: '0xb61d27f6' },
        dummySignature: '0x00',
        overrides: { callGasLimit: { multiplier: 1.2 } },
      },
    ],
    result: withFees,
  },
  zd_getUserOperationGasPrice: { params: [], result: { slow: fees, standard: fees, fast: fees } },
  biconomy_getGasFeeValues: { params: [], result: { slow: fees, standard: fees, fast: fees } },
  rundler_maxPriorityFeePerGas: { params: [], result: fees.maxPriorityFeePerGas },
  eth_chainId: { params: [], result: '0x7a69' },
  eth_supportedEntryPoints: { params: [], result: [entryPoint06.address] },
  eth_estimateUserOperationGas: {
    params: [sponsored, entryPoint06.address],
    result: { preVerificationGas: '0xea60', verificationGasLimit: '0x249f0', callGasLimit: '0x186a0' },
  },
  eth_sendUserOperation: { params: [sponsored, entryPoint06.address], result: userOpHash },
  eth_getUserOperationByHash: {
    params: [userOpHash],
    result: { userOperation: sponsored, entryPoint: entryPoint06.address },
  },
  eth_getUserOperationReceipt: {
    params: [userOpHash],
    result: { userOpHash, sender, nonce: '0x0', paymaster: contract, success: true },
  },
  pimlico_getUserOperationGasPrice: { params: [], result: { fast: fees, standard: fees, slow: fees } },
  pm_explainSponsorship: {
    params: [userOp, { mode: 'SPONSORED', callWebhook: false }],
    result: {
      mode: 'SPONSORED',
      sponsored: false,
      reason: 'METHOD_NOT_WHITELISTED',
      paymaster: { chainId: 31337, version: '1.1.0', layout: 'vendor-1.1.0', contract },
      steps: [
        {
          step: 'contracts',
          verdict: 'refuse',
          reason: 'METHOD_NOT_WHITELISTED',
          detail: `call 0 to ${token.toLowerCase()} (counter) with selector 0x42966c68`,
          remedy: 'Add the method that is called to whitelistedMethods of the contract.',
        },
      ],
      account: 'execute(address,uint256,bytes)',
      calls: [],
      limits: [],
      rules: [
        {
          policyType: 'CONTRACTS',
          name: 'Contracts',
          enforcement: 'Enforce',
          appliesTo: ['SPONSORED'],
          says: `call 0 to ${token.toLowerCase()} (counter) with selector 0x42966c68`,
          verdict: 'refuse',
        },
      ],
      deposits: [],
      bounds: [],
      webhooks: [],
    },
  },
} as const satisfies Record<keyof ServedMethods, RpcExample>;
