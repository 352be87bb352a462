import { DomainError, invalidInput, quote } from '../../core/errors.js';
import { objectKey } from '../../core/meta/meta.js';
import { documentedTypes, listedType } from '../../core/policy/derived.js';
import { isDocumented, type DocumentedLimit } from '../../core/policy/spending-limit/record.js';
import { thresholdProblem } from '../../core/policy/spending-limit/threshold.js';
import type { PaymasterPolicy, PaymasterPolicySpec } from '../../core/resources/paymaster-policy.js';
import { decimalText } from '../../core/units/decimal-text.js';
import type { EpochMs } from '../../core/units/time.js';
import type { PaymasterCall } from './call.js';
import type { Tools } from './deps.js';
import { documentBody, endpoint } from './endpoint.js';
import { unlessDeleted } from './lookups.js';
import { findContract, inTurn, listPaymasterPolicies, policyNotFound, requireFreeName } from './policies.js';
import { updateLimitSchema, type UpdateLimit } from './schemas.js';
import { policyIdOfCall } from './views.js';
import type { Spec } from './writes.js';

/**
 * An update restarts the cycle, also one with equal values: usage counts from now on. A body that gives no field of a limit
 * is not an update, so the cycle goes on.
 */
export const updateLimit = endpoint({
  operationId: 'updateLimit',
  summary: 'Update a spending limit and restart its cycle',
  method: 'patch',
  path: '/paymaster-policy/limit/:policyId',
  scope: 'paymaster',
  message: 'Paymaster Limit updated',
  body: documentBody(updateLimitSchema, (parse) => parse.updateLimit, { threshold: 0.1 }),

  async handle(tools, call) {
    const { body } = call;
    const isUpdate = Object.keys(updateLimitSchema.properties ?? {}).some((field) => isGiven(body, field));
    const policy = await inTurn(tools, call.paymaster, async () => {
      const policies = await listPaymasterPolicies(tools, call.paymaster);
      const found = policies.find((candidate) => policyIdOfCall(call, candidate) === call.params['policyId']);
      if (!found) throw await missingPolicy(tools, call);
      if (body.name !== undefined) requireFreeName(policies, body.name, found);
      if (!isUpdate) return requireLimit(found);
      return unlessDeleted(policyNotFound, () =>
        tools.writes.change('PaymasterPolicy', objectKey(found), (current, owned) =>
          plan(current, owned, body, tools.clock.now()),
        ),
      );
    });
    return {
      programmed: await tools.programmed.written('PaymasterPolicy', policy),
      object: policy,
      warnings: [
        isUpdate
          ? `the cycle of the limit started anew at ${policy.spec.spendingLimit?.startTime}: what was used before no longer counts`
          : 'no field of the limit was given: nothing changed, and its cycle goes on',
      ],
    };
  },
});

function isGiven(input: UpdateLimit, field: string): boolean {
  return Object.hasOwn(input, field) && input[field as keyof UpdateLimit] !== undefined;
}

function requireLimit(policy: PaymasterPolicy): PaymasterPolicy {
  documentedLimit(policy.spec);
  return policy;
}

/** Throws for a policy that is not a limit, and for a limit that the service document cannot express. */
function documentedLimit(spec: PaymasterPolicySpec): DocumentedLimit {
  const type = listedType(spec);
  if (spec.spendingLimit === undefined || !isDocumented(spec.spendingLimit)) throw notALimit(type);
  return spec.spendingLimit;
}

function plan(
  { spec }: PaymasterPolicy,
  owned: Spec<'PaymasterPolicy'>,
  input: UpdateLimit,
  now: EpochMs,
): Spec<'PaymasterPolicy'> {
  const limit = documentedLimit(spec);
  const change = changedFields(limit, input);
  return {
    ...owned,
    ...(input.name === undefined || input.name === spec.name ? {} : { name: input.name }),
    spendingLimit: {
      ...owned.spendingLimit,
      ...change,
      ...(change.cycleDuration && {
        cycleDuration: { ...owned.spendingLimit?.cycleDuration, ...change.cycleDuration },
      }),
      startTime: nextStart(limit.startTime, now),
    },
  };
}

/** Only the fields that differ: writing a field again would take it over from the manifest that declares it. */
function changedFields(
  limit: DocumentedLimit,
  { type, cycleDuration, threshold, thresholdType }: UpdateLimit,
): NonNullable<Spec<'PaymasterPolicy'>['spendingLimit']> {
  if (type !== undefined && type !== limit.scope)
    throw invalidInput({ field: 'type', expected: `left as it is ("${limit.scope}")`, value: quote(type) });
  const text = threshold === undefined ? limit.threshold : decimalText(threshold);
  const countedAs = thresholdType ?? limit.thresholdType;
  const problem = thresholdProblem(text, countedAs, 'threshold');
  if (problem) throw invalidInput(problem);
  const { value, unit } = { ...limit.cycleDuration, ...cycleDuration };
  const cycle = {
    ...(value === limit.cycleDuration.value ? {} : { value }),
    ...(unit === limit.cycleDuration.unit ? {} : { unit }),
  };
  return {
    ...(text === limit.threshold ? {} : { threshold: text }),
    ...(countedAs === limit.thresholdType ? {} : { thresholdType: countedAs }),
    ...(Object.keys(cycle).length === 0 ? {} : { cycleDuration: cycle }),
  };
}

/** Strictly later than `previous`, so that each of two updates within a millisecond, or after the clock was set back, restarts the cycle. */
function nextStart(previous: string | undefined, now: EpochMs): string {
  const earliest = previous === undefined ? now : Date.parse(previous) + 1;
  return new Date(Math.max(now, earliest)).toISOString();
}

async function missingPolicy(tools: Tools, call: PaymasterCall): Promise<DomainError> {
  const contract = await findContract(tools, call, call.params['policyId'] ?? '');
  return contract ? notALimit() : policyNotFound();
}

/** Of the kinds that the service document does not know, the message says what to use instead. */
function notALimit(type?: string): DomainError {
  const instead =
    type === undefined || documentedTypes.some((documented) => documented === type)
      ? ''
      : `: change a policy of type ${type} by its manifest or the management API, /manage/v1`;
  return new DomainError('POLICY_KIND_MISMATCH', `The policy is not a spending limit${instead}`);
}
