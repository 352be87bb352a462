import { requireObject } from '../http/json.js';
import { invalidInput, type Problem, quote } from '../../core/errors.js';
import { campaignName } from '../../core/policy/rules/campaign.js';
import { type AddressKey, isAddressText } from '../../core/units/address.js';
import { given } from '../../core/units/given.js';
import { Fields, uint } from '../../core/userop/fields.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { isKnownMember } from './params.js';

/** What a context of another service means here, beside our own members. */
type ReadContext = {
  /** Our own members, with those of others under our names. */
  readonly members: Readonly<Record<string, unknown>>;
  /** The token of an `erc20Context`, and the most of it that may be paid, in base units. */
  readonly payment?: { readonly token: AddressKey; readonly most: bigint | undefined };
  readonly campaign?: string;
  readonly webhookData?: string;
};

/**
 * Reads what Alchemy's and Pimlico's clients send: `erc20Context: {tokenAddress, maxTokenAmount, permit}` is a token to pay in,
 * `policyId` (text or list) the campaign where campaigns are used, `webhookData` a text for webhooks. Throws INVALID_INPUT.
 */
export function readContext(
  context: Readonly<Record<string, unknown>>,
  path: string,
  { campaigns }: Pick<ServedPaymaster, 'campaigns'>,
): ReadContext {
  const { policyId, webhookData, erc20Context } = context;
  const campaign = campaigns === undefined ? undefined : chooseCampaign(policyId, campaigns.active);
  const payment = isMissing(erc20Context) ? undefined : readPayment(erc20Context, `${path}.erc20Context`);
  return {
    members: payment === undefined ? context : { ...context, token: context['token'] ?? payment.token },
    ...given({ payment }),
    ...(campaign === undefined ? {} : { campaign }),
    ...(typeof webhookData === 'string' ? { webhookData } : {}),
  };
}

function readPayment(value: unknown, path: string): NonNullable<ReadContext['payment']> {
  const fields = new Fields(requireObject(value, path, 'an object'), path);
  const token = fields.requiredAddress('tokenAddress');
  const most = fields.quantity('maxTokenAmount', uint(256));
  if (fields.isGiven('permit'))
    fields.problem(
      'permit',
      'left out: permits are not passed on, so let the account approve the token, in this operation or before',
    );
  fields.done();
  return { token, most };
}

/** Of a list, the first that is active; else the first, which is refused as one that is not. */
function chooseCampaign(policyId: unknown, active: ReadonlyMap<string, unknown>): string | undefined {
  const names: readonly unknown[] = Array.isArray(policyId) ? policyId : [policyId];
  const texts = names.filter((name) => typeof name === 'string' && campaignName.test(name)) as string[];
  return texts.find((name) => active.has(name)) ?? texts[0];
}

/**
 * A context that seems to name a token in words of another service must not be sponsored for free: its user means to pay. Throws
 * INVALID_INPUT.
 */
export function refuseUnreadToken(context: Readonly<Record<string, unknown>>, path: string): void {
  const problems = Object.entries(context).flatMap(([name, value]): Problem[] => {
    if (!/token|erc-?20/i.test(name) || isKnownMember(name) || !holdsAddress(value)) return [];
    const expected =
      'left out, since it is not read here: send token with the address of the token to pay in, or mode SPONSORED for no payment';
    return [{ field: `${path}.${name.slice(0, 100)}`, expected, value: quote(value) }];
  });
  if (problems.length > 0) throw invalidInput(problems);
}

/** Itself, or one level down. */
function holdsAddress(value: unknown): boolean {
  if (isAddressText(value)) return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(isAddressText);
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}
