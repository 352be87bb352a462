import { randomUUID } from 'node:crypto';
import { toSimpleSmartAccount } from 'permissionless/accounts';
import * as viem from 'viem';
import { createPublicClient, createWalletClient, encodeFunctionData, erc20Abi, http, parseAbi } from 'viem';
import * as accountAbstraction from 'viem/account-abstraction';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { toSimpleAccount } from './latest/simple-account.mjs';

/** A development key of every anvil chain: hands out tokens, which anybody may mint there. */
const minterKey = '0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356';

export function openChain({ chainRpcUrl }) {
  return createPublicClient({ chain: foundry, transport: http(chainRpcUrl), pollingInterval: 100 });
}

/** A smart account, of a new owner unless one is given, which does not exist yet. */
export function newAccount(
  client,
  { entryPoint: address, entryPointVersion: version },
  owner = privateKeyToAccount(generatePrivateKey()),
) {
  // permissionless has no account on 0.9.
  if (version === '0.9')
    return toSimpleAccount({ viem, accountAbstraction }, { client, owner, entryPoint: { address, version } });
  return toSimpleSmartAccount({ client, owner, entryPoint: { address, version } });
}

/** A paymaster of this version for the sponsored contract, made through the dashboard API; answers its JSON-RPC address. */
export async function newPaymaster(facts, version) {
  const { rpcUrl, apiKey, post } = await makePaymaster(facts, version);
  const abi = JSON.stringify([{ type: 'function', name: 'increment', inputs: [], outputs: [] }]);
  const contract = {
    name: 'counter',
    address: facts.sponsoredContract.address,
    abi,
    whitelistedMethods: ['increment'],
  };
  await post('/smart-contract', { apiKey }, contract);
  return rpcUrl;
}

/** A paymaster of this version that sponsors any call; answers its JSON-RPC address. */
export async function newOpenPaymaster(facts, version) {
  return (await makePaymaster(facts, version)).rpcUrl;
}

async function makePaymaster({ dashboardUrl, authToken, chainId }, version) {
  const post = async (path, headers, body) => {
    const response = await fetch(`${dashboardUrl}/api/v2/public/sdk${path}`, {
      method: 'POST',
      headers: { authToken, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (answer.statusCode !== 200) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return answer.data;
  };
  const name = `clients ${version} ${randomUUID()}`;
  const { apiKey } = await post('/paymaster', {}, { name, type: 'HYBRID', chainId, version });
  return { apiKey, post, rpcUrl: `${dashboardUrl}/api/v1/${chainId}/${apiKey}` };
}

export function increment({ sponsoredContract: { address, method } }) {
  return { to: address, data: encodeFunctionData({ abi: parseAbi([`function ${method}`]) }) };
}

/** Takes all tokens away from the account, which need not be ours: the chain is a dev chain. */
export async function emptyOfTokens(client, { feeToken }, from) {
  const account = { abi: erc20Abi, address: feeToken.address };
  const held = await client.readContract({ ...account, functionName: 'balanceOf', args: [from] });
  const data = encodeFunctionData({ ...account, functionName: 'transfer', args: [feeToken.address, held] });
  await client.request({ method: 'anvil_impersonateAccount', params: [from] });
  const hash = await client.request({
    method: 'eth_sendTransaction',
    params: [{ from, to: feeToken.address, data }],
  });
  await client.waitForTransactionReceipt({ hash });
}

export async function mint(client, { chainRpcUrl, feeToken }, to, amount) {
  const minter = createWalletClient({
    chain: foundry,
    transport: http(chainRpcUrl),
    account: privateKeyToAccount(minterKey),
  });
  const hash = await minter.writeContract({
    address: feeToken.address,
    abi: parseAbi(['function mint(address to, uint256 amount)']),
    functionName: 'mint',
    args: [to, amount],
  });
  await client.waitForTransactionReceipt({ hash });
}
