import type { GasLimits } from '../../core/entry-point/user-operation.js';
import { entryPointRules } from '../../core/entry-point/table.js';
import type { RefusalReason } from '../../core/refusal.js';
import { hexQuantity, type Hex } from '../../core/units/hex.js';
import type { SponsorInfo } from '../../core/resources/paymaster.js';
import type { FeeQuotes } from '../decision/token/quote.js';
import type { Sponsored, Sponsorship } from '../decision/request.js';
import type { ServedProfile } from '../view/served-chain.js';
import type { RpcResult } from './method.js';
import type { Mode } from './params.js';

/**
 * Result of both documented methods in mode SPONSORED. Built from text rather than objects: the shape is fixed and
 * every value is digits, hex or a published constant.
 *
 * - `mode` and `MODE`: the vendor's clients read one, the service document shows the other.
 * - All three limits always, also with `paymasterAndData: "0x"`: some flows have no other source of limits.
 * - `preVerificationGas` is decimal text, the others are integers, never hex.
 * - `validUntil` in seconds, and `expiryAsked` if the caller asked for a longer expiry than is allowed.
 * - `openSponsorship: true` if the paymaster has no registered contract and sponsors calls to any: its owner should see this.
 * - EntryPoint 0.7+: the paymaster's four fields in addition to the packed form, which not every client can unpack.
 * - `otherwise`: why the account does not pay in tokens either, where the request asked for it.
 */
export function renderSponsorship(sponsorship: Sponsorship, otherwise?: string): RpcResult {
  if (sponsorship.outcome === 'refused') {
    const { refusal, limits } = sponsorship;
    const { reason, detail, webhookReason } = refusal;
    const said = webhookReason === undefined ? '' : `,"webhookReason":${JSON.stringify(webhookReason)}`;
    const also = otherwise === undefined ? '' : `,"otherwise":{"reason":${JSON.stringify(otherwise)}}`;
    return {
      json: `{${head('SPONSORED', '0x', limits)},"reason":"${reason}"${said}${also}}`,
      refusal: reason,
      detail,
    };
  }
  const { isOpen } = sponsorship;
  const members = renderSigned('SPONSORED', sponsorship);
  return { json: `{${members}${isOpen ? ',"openSponsorship":true' : ''}}`, isOpen };
}

/**
 * Result of `pm_sponsorUserOperation` in mode ERC20, with the same members as {@link renderSponsorship}. `insteadOf`: why the operation
 * is not sponsored, where that was asked first.
 */
export function renderTokenPayment(payment: Sponsored, insteadOf?: RefusalReason): RpcResult {
  const why = insteadOf === undefined ? '' : `,"insteadOf":{"mode":"SPONSORED","reason":"${insteadOf}"}`;
  return { json: `{${renderSigned('ERC20', payment)}${why}}` };
}

/** Result of `pm_sponsorUserOperation` in the form that names the EntryPoint: its clients spread it into the operation, so nothing else is in it. */
export function renderOperationFields({ profile, op, paymasterAndData, isOpen }: Sponsored): RpcResult {
  const fields = { ...renderErc7677(profile, paymasterAndData), ...renderHexLimits(op) };
  return { json: JSON.stringify(fields), ...(isOpen ? { isOpen } : {}) };
}

/** Result of `pm_getFeeQuoteOrData` in mode ERC20. `unsupportedReasons` says per token why it was not quoted. */
export function renderFeeQuotes({ paymasterAddress, feeQuotes, unsupported }: FeeQuotes): RpcResult {
  const quotes = {
    mode: 'ERC20',
    MODE: 'ERC20',
    paymasterAddress,
    feeQuotes,
    unsupportedTokens: unsupported.map(({ address }) => address),
    unsupportedReasons: Object.fromEntries(unsupported.map(({ address, why }) => [address, why])),
  };
  return { json: JSON.stringify(quotes), outcome: 'answered' };
}

function renderSigned(
  mode: Mode,
  { profile, paymasterGas, op, paymasterAndData, validUntil, expiryAsked }: Sponsored,
): string {
  const asked = expiryAsked === undefined ? '' : `,"expiryAsked":${expiryAsked}`;
  const members = `${head(mode, paymasterAndData, op)},"validUntil":${validUntil}${asked}`;
  if (!entryPointRules[profile.entryPointVersion].form.hasPaymasterFields) return members;
  const { paymasterVerificationGasLimit, paymasterPostOpGasLimit } = paymasterGas;
  return (
    `${members},"paymaster":"${paymasterAndData.slice(0, 42)}","paymasterData":"0x${paymasterAndData.slice(106)}",` +
    `"paymasterVerificationGasLimit":${paymasterVerificationGasLimit},"paymasterPostOpGasLimit":${paymasterPostOpGasLimit}`
  );
}

function head(mode: Mode, paymasterAndData: string, limits: GasLimits): string {
  return (
    `"mode":"${mode}","MODE":"${mode}","paymasterAndData":"${paymasterAndData}",` +
    `"preVerificationGas":"${limits.preVerificationGas}","verificationGasLimit":${limits.verificationGasLimit},` +
    `"callGasLimit":${limits.callGasLimit}`
  );
}

/** The paymaster's fields in the names and hex of ERC-7677: `paymasterAndData` on EntryPoint 0.6, unpacked ones later. */
export function renderErc7677(
  profile: ServedProfile,
  paymasterAndData: Hex,
): Readonly<Record<string, unknown>> {
  return entryPointRules[profile.entryPointVersion].form.renderPaymaster(paymasterAndData);
}

/** The expiry of signed data, sent beside the fields of ERC-7677: its clients ignore members that they do not know. */
export function renderValidity({
  validUntil,
  expiryAsked,
}: Pick<Sponsored, 'validUntil' | 'expiryAsked'>): Readonly<Record<string, number>> {
  return { validUntil, ...(expiryAsked === undefined ? {} : { expiryAsked }) };
}

/** Who pays, in the names that AbstractionKit reads from signed data. Its members are not optional there. */
export function renderSponsor(sponsor: SponsorInfo | undefined): Readonly<Record<string, unknown>> {
  if (sponsor === undefined) return {};
  const { name, icon } = sponsor;
  return { sponsorMetadata: { name, description: '', url: '', icons: icon === undefined ? [] : [icon] } };
}

/**
 * The signed limits, in hex like the fields beside them. For wallets that asked us to calculate limits in the second call of
 * ERC-7677, and that copy them together with the paymaster's fields.
 */
export function renderHexLimits(limits: GasLimits): Readonly<Record<string, string>> {
  return {
    preVerificationGas: hexQuantity(limits.preVerificationGas),
    verificationGasLimit: hexQuantity(limits.verificationGasLimit),
    callGasLimit: hexQuantity(limits.callGasLimit),
  };
}
