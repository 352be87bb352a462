import { createRequire } from 'node:module';
import { createWalletClient, encodeAbiParameters, getContractAddress, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';

const deployer = '0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6';
const deterministicDeployer = '0x4e59b44847b379578588920cA78FbF26c0B4956C';
/** Safe 1.4.1 by address, the same on every chain. */
export const safe = {
  singleton: '0x41675C099F32341bf84BFc5382aF534df5C7461a',
  singletonL2: '0x29fcB43b46531BcA003ddC8FCB67FFE91900C762',
  proxyFactory: '0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67',
  multiSendCallOnly: '0x9641d764fc13c8B624c04430C7356C1C7C8102e2',
  multiSend: '0x38869bf66a61cF6bDB996A6aE40D5853Fd43B526',
};
const sources = {
  [safe.singleton]: 'Safe.sol/Safe',
  [safe.singletonL2]: 'SafeL2.sol/SafeL2',
  [safe.proxyFactory]: 'proxies/SafeProxyFactory.sol/SafeProxyFactory',
  [safe.multiSendCallOnly]: 'libraries/MultiSendCallOnly.sol/MultiSendCallOnly',
  [safe.multiSend]: 'libraries/MultiSend.sol/MultiSend',
};
const require = createRequire(import.meta.url);
const artifact = (path) => require(`@safe-global/${path}.json`);

/** Deploys contracts of a dev chain's newcomers: a wallet that can pay. */
export function deployerOf({ chainRpcUrl }) {
  const account = privateKeyToAccount(deployer);
  return createWalletClient({ account, chain: foundry, transport: http(chainRpcUrl) });
}

/** Puts Safe 1.4.1 and its module for an EntryPoint 0.7 on the dev chain; answers the addresses of the module's contracts. */
export async function deploySafes(facts, client, entryPoint) {
  for (const [address, path] of Object.entries(sources)) {
    const { deployedBytecode } = artifact(`safe-contracts/build/artifacts/contracts/${path}`);
    await client.request({ method: 'anvil_setCode', params: [address, deployedBytecode] });
  }
  const wallet = deployerOf(facts);
  const deploy = async (name, argument = '') => {
    const { bytecode } = artifact(`safe-4337/build/artifacts/contracts/${name}.sol/${name}`);
    const salt = `0x${'00'.repeat(32)}`;
    const code = `${bytecode}${argument}`;
    const hash = await wallet.sendTransaction({
      to: deterministicDeployer,
      data: `${salt}${code.slice(2)}`,
    });
    await client.waitForTransactionReceipt({ hash });
    return getContractAddress({ opcode: 'CREATE2', from: deterministicDeployer, salt, bytecode: code });
  };
  const argument = encodeAbiParameters([{ type: 'address' }], [entryPoint]).slice(2);
  return { setup: await deploy('SafeModuleSetup'), module: await deploy('Safe4337Module', argument) };
}
