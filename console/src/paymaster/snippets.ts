/** Who asks whom. `url` has the apiKey in it. */
export type Asked = { readonly url: string; readonly chainId: number };

/** What an application needs to ask a paymaster, by the library that it uses. */
type Snippet = { readonly title: string; readonly code: (asked: Asked) => string };

// Of the application, not of the console.
const [viem, accountAbstraction] = [`'viem'`, `'viem/account-abstraction'`];
const [permissionless, ethers] = [`'permissionless'`, `'ethers'`];

export const snippets: readonly Snippet[] = [
  {
    title: 'viem',
    code: ({ url }) => `import { http } from ${viem};
import { createBundlerClient, createPaymasterClient } from ${accountAbstraction};

const paymaster = createPaymasterClient({ transport: http('${url}') });
const bundlerClient = createBundlerClient({
  account, // your smart account
  client, // your public client
  paymaster,
  transport: http(BUNDLER_URL),
});
await bundlerClient.sendUserOperation({ calls: [{ to, data }] });`,
  },
  {
    title: 'permissionless',
    code: ({ url }) => `import { createSmartAccountClient } from ${permissionless};
import { http } from ${viem};
import { createPaymasterClient } from ${accountAbstraction};

const smartAccountClient = createSmartAccountClient({
  account, // your smart account
  client, // your public client
  paymaster: createPaymasterClient({ transport: http('${url}') }),
  bundlerTransport: http(BUNDLER_URL),
});
await smartAccountClient.sendTransaction({ to, data });`,
  },
  {
    title: 'ethers',
    code: ({ url, chainId }) => `import { JsonRpcProvider } from ${ethers};

const options = { staticNetwork: true, batchMaxCount: 1 };
const paymaster = new JsonRpcProvider('${url}', ${chainId}, options);
const signed = await paymaster.send('pm_sponsorUserOperation', [
  userOp, // quantities as hex
  { mode: 'SPONSORED', calculateGasLimits: true },
]);
// 0x: not sponsored, and signed.reason says why. Else copy paymasterAndData and the gas limits into userOp.`,
  },
  {
    title: 'curl',
    code: ({ url }) => `curl -s '${url}' -H 'content-type: application/json' -d '{
  "jsonrpc": "2.0", "id": 1, "method": "pm_sponsorUserOperation",
  "params": [
    {
      "sender": "0x1234567890123456789012345678901234567890", "nonce": "0x0", "callData": "0x",
      "callGasLimit": "100000", "verificationGasLimit": "150000", "preVerificationGas": "60000",
      "maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x3b9aca00"
    },
    { "mode": "SPONSORED", "calculateGasLimits": false }
  ]
}'`,
  },
];
