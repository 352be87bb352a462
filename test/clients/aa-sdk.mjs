import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { concat, encodeFunctionData, erc20Abi, http } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { startBundledService } from './processes.mjs';
import { emptyOfTokens, increment, mint, newAccount, newPaymaster, openChain } from './wallets.mjs';

// Alchemy's client with its ERC-7677 middleware: ours and the bundler's methods go to one address, the chain's to another.

const plenty = 10n ** 12n;
const ourMethods = [
  'pm_getPaymasterStubData',
  'pm_getPaymasterData',
  'alchemy_requestGasAndPaymasterAndData',
];
/** Of the token contracts of `make run`. */
const treasury = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';

/** Tests of the client that a folder has installed. */
export function aaSdkTests(
  { createSmartAccountClient, erc7677Middleware, getEntryPoint, split, toSmartContractAccount },
  { alchemy, createAlchemySmartAccountClient, defineAlchemyChain },
) {
  // A URL of Alchemy has to be there, and is not called.
  const chain = defineAlchemyChain({ chain: foundry, rpcBaseUrl: 'http://127.0.0.1:1' });
  let running;
  let facts;
  let client;
  before(async () => {
    running = await startBundledService();
    facts = running.facts;
    client = openChain(facts);
  });
  after(() => running?.stop());

  for (const version of ['1.1.0', '2.0.0', 'singleton-0.6', 'singleton-0.7', 'verifying-0.7'])
    describe(`@aa-sdk/core, version ${version}`, () => {
      let profile;
      let rpcUrl;
      before(async () => {
        profile = facts.versions.find((each) => each.version === version);
        rpcUrl = await newPaymaster(facts, version);
      });

      async function open(middleware) {
        const bundlerMethods = [
          'eth_sendUserOperation',
          'eth_estimateUserOperationGas',
          'eth_getUserOperationReceipt',
          'eth_getUserOperationByHash',
          'eth_supportedEntryPoints',
        ];
        const transport = split({
          overrides: [{ methods: [...bundlerMethods, ...ourMethods], transport: http(rpcUrl) }],
          fallback: http(facts.chainRpcUrl),
        });
        return createSmartAccountClient({
          transport,
          chain,
          account: await accountOf(transport, entryPointOf()),
          ...middleware(transport),
        });
      }

      const entryPointOf = () =>
        getEntryPoint(chain, {
          version: `${profile.entryPointVersion}.0`,
          addressOverride: profile.entryPoint,
        });

      /** SimpleAccount, which the client no longer has. */
      async function accountOf(transport, entryPoint) {
        const owner = privateKeyToAccount(generatePrivateKey());
        const account = await newAccount(client, profile, owner);
        const { factory, factoryData } = await account.getFactoryArgs();
        const callOf = ({ target, data, value = 0n }) => ({ to: target, data, value });
        return toSmartContractAccount({
          source: 'SimpleAccount',
          transport,
          chain,
          entryPoint,
          accountAddress: account.address,
          getAccountInitCode: async () => concat([factory, factoryData]),
          getDummySignature: () => account.getStubSignature(),
          encodeExecute: (call) => account.encodeCalls([callOf(call)]),
          encodeBatchExecute: (calls) => account.encodeCalls(calls.map(callOf)),
          signMessage: ({ message }) => owner.signMessage({ message }),
          signTypedData: (typed) => owner.signTypedData(typed),
        });
      }

      async function send(wallet, calls) {
        const uo = calls.map(({ to, data }) => ({ target: to, data }));
        const { hash } = await wallet.sendUserOperation({ uo: uo.length === 1 ? uo[0] : uo });
        await wallet.waitForUserOperationTransaction({ hash });
        const { success } = await wallet.getUserOperationReceipt(hash);
        assert.equal(success, true);
      }

      test('sponsored: the first operation, the next, and several calls at once', async () => {
        const wallet = await open(() => erc7677Middleware({ context: {} }));
        for (const calls of [1, 1, 3]) await send(wallet, Array(calls).fill(increment(facts)));
      });

      test("Alchemy's own client, with a policy: fees, limits and data of one call", async () => {
        const transport = alchemy({ alchemyConnection: { rpcUrl }, nodeRpcUrl: facts.chainRpcUrl });
        const wallet = createAlchemySmartAccountClient({
          transport,
          chain,
          account: await accountOf(transport, entryPointOf()),
          policyId: 'p',
        });
        for (const calls of [1, 1, 3]) await send(wallet, Array(calls).fill(increment(facts)));
      });

      if (version === 'verifying-0.7') return;
      // On 0.7 the client takes the bundler's limit for the paymaster in place of ours.
      const isRefused = version === '2.0.0' || version === 'singleton-0.7';
      const outcome = isRefused ? 'is refused with the limit that it needs' : 'is mined';
      test(`an operation that approves and pays in tokens ${outcome}`, async () => {
        const token = facts.feeToken.address;
        const wallet = await open(() => erc7677Middleware({ context: { token } }));
        const { address } = wallet.account;
        await mint(client, facts, address, plenty);
        // The first transfer to a treasury costs more than later ones.
        await emptyOfTokens(client, facts, treasury);
        const args = [profile.tokenPaymasterAddress, plenty];
        const approve = {
          to: token,
          data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args }),
        };
        const sent = send(wallet, [approve, increment(facts)]);
        if (isRefused)
          return assert.rejects(sent, /paymasterVerificationGasLimit must be \d+, as the stub has it/);
        await sent;
        const balance = { address: token, abi: erc20Abi, functionName: 'balanceOf', args: [address] };
        assert.ok((await client.readContract(balance)) < plenty);
      });
    });
}
