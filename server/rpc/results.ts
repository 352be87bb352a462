import { renderPaymaster } from '../../core/userop/render.js';
import type { GasLimits } from '../../core/userop/user-operation.js';
import type { Hex } from '../../core/units/hex.js';
import type { Sponsorship } from '../sponsorship/request.js';
import type { ServedProfile } from '../view/served-chain.js';
import type { RpcResult } from './method.js';

/**
 * Result of both documented methods in mode SPONSORED. Built from text rather than objects: the shape is fixed and
 * every value is digits, hex or a published constant.
 *
 * - `mode` and `MODE`: the vendor's clients read one, the service document shows the other.
 * - All three limits always, also with `paymasterAndData: "0x"`: some flows have no other source of limits.
 * - `preVerificationGas` is decimal text, the others are integers, never hex.
 * - EntryPoint 0.7+: the paymaster's four fields beside the packed form, which not every client can take apart.
 */
export function renderSponsorship(sponsorship: Sponsorship): RpcResult {
  if (sponsorship.outcome === 'refused') {
    const { reason, detail, limits } = sponsorship;
    return { json: `{${head('0x', limits)},"reason":"${reason}"}`, refusal: reason, detail };
  }
  const { profile, op, paymasterAndData } = sponsorship;
  if (profile.entryPointVersion === '0.6') return { json: `{${head(paymasterAndData, op)}}` };
  const { paymasterVerificationGasLimit, paymasterPostOpGasLimit } = profile.paymasterGas;
  const fields =
    `"paymaster":"${paymasterAndData.slice(0, 42)}","paymasterData":"0x${paymasterAndData.slice(106)}",` +
    `"paymasterVerificationGasLimit":${paymasterVerificationGasLimit},"paymasterPostOpGasLimit":${paymasterPostOpGasLimit}`;
  return { json: `{${head(paymasterAndData, op)},${fields}}` };
}

function head(paymasterAndData: string, limits: GasLimits): string {
  return (
    `"mode":"SPONSORED","MODE":"SPONSORED","paymasterAndData":"${paymasterAndData}",` +
    `"preVerificationGas":"${limits.preVerificationGas}","verificationGasLimit":${limits.verificationGasLimit},` +
    `"callGasLimit":${limits.callGasLimit}`
  );
}

/** The paymaster's fields in the names and hex of ERC-7677: `paymasterAndData` on EntryPoint 0.6, unpacked ones later. */
export function renderErc7677(
  profile: ServedProfile,
  paymasterAndData: Hex,
): Readonly<Record<string, unknown>> {
  return profile.entryPointVersion === '0.6' ? { paymasterAndData } : renderPaymaster(paymasterAndData);
}
