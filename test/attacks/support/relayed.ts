import { decodeUserOperationEvent } from '../../../core/entry-point/user-operation-event.js';
import type { EntryPointVersion } from '../../../core/entry-point/version.js';
import { parseAddress, toAddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import { gweiCeil } from '../../../core/units/wei.js';
import { relay } from '../../adversary/chain/delivery.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import { encodeHandleOps } from '../../chain/support/handle-ops.js';
import type { SignedUserOp } from '../../chain/support/user-op.js';
import { until } from '../../support/until.js';

/** Mines an operation through a contract that sends the bundle on. Resolves with the operation's actual cost in gwei. */
export async function mineRelayed(
  { chain, deployments, transactor }: DevChain,
  version: EntryPointVersion,
  signed: SignedUserOp,
): Promise<number> {
  await chain.request('anvil_setCode', [relay.address, relay.code]);
  const entryPoint = deployments.entryPoints[version];
  const { number } = (await chain.block('latest'))!;
  const bundle = encodeHandleOps(version, [signed]).slice(2);
  const data: Hex = `0x${toAddressKey(entryPoint).slice(2)}${bundle}`;
  await transactor.send('bundle', { to: parseAddress(relay.address), data });
  await until('the bundle is mined', async () => (await chain.block('latest'))!.number > number);
  const logs = await chain.logs({ fromBlock: number + 1, toBlock: number + 1, address: entryPoint });
  const [event] = logs.flatMap((log) => decodeUserOperationEvent(log) ?? []);
  if (event === undefined) throw new Error('the bundle holds no operation');
  return gweiCeil(event.actualGasCost);
}
