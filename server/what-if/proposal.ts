import { randomUUID } from 'node:crypto';
import { parseManifest, type ManifestObject } from '../../adapters/manifests/parse-manifest.js';
import { compilePaymaster } from '../../core/config/compile.js';
import { derivePaymasterId } from '../../core/config/ids.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import type { Quotas } from '../../core/config/platform.js';
import type { Tenant } from '../../core/config/tenant.js';
import { invalidInput, quote, type Problem } from '../../core/errors.js';
import type { Finding } from '../../core/meta/conditions.js';
import { apiVersion, formatKey, objectKey } from '../../core/meta/meta.js';
import type { WebhookUrlRules } from '../../core/policy/webhook/webhook-url.js';
import { readMethodsInParts } from '../../core/resources/abi.js';
import type { AnyResource, Resources } from '../../core/resources/kinds.js';
import type { Organisation } from '../../core/resources/organisation.js';
import { validateResource } from '../../core/resources/validate.js';
import { readField } from '../../core/schema/json-value.js';
import { formatInstant, type EpochMs } from '../../core/units/time.js';
import { limitWindowAt } from '../../core/usage/limit-window.js';
import { WhatIf, type WhatIfDeps } from '../../core/what-if/what-if.js';
import { forCampaign } from '../view/campaigns.js';
import { servePaymaster } from '../view/served-paymaster.js';
import { createSharing } from '../view/sharing.js';

/** What an organisation may write. */
const kinds = ['Paymaster', 'SmartContract', 'PaymasterPolicy'] as const;
export type Proposed = Resources[(typeof kinds)[number]];

const maxObjects = 200;
const maxProblems = 100;

/** Of the Paymaster that the proposed objects are about. */
export type ProposedFor = { readonly paymaster: string };

export type CompileContext = {
  readonly organisation: Organisation;
  readonly tenant: Tenant;
  readonly now: EpochMs;
  readonly from: EpochMs;
  readonly quotas: Quotas;
  readonly webhookUrls: WebhookUrlRules;
  readonly served: PaymasterConfig | undefined;
  /** The config that was compiled last. */
  readonly previous: PaymasterConfig | undefined;
};

/** A rule that says nothing in a what-if. `name`: of a policy. */
type NotJudged = {
  readonly rule: 'webhook' | 'expression' | 'budget' | 'gasCaps' | 'factories' | 'sharesAndDeposits';
  readonly name: string | null;
};

export type Begun = {
  readonly paymasterId: string;
  /** From here on signed operations are counted. */
  readonly since: EpochMs;
  readonly notJudged: readonly NotJudged[];
};

/** Nobody asks a what-if by a key, so no key is given to its thread. */
const noKeys = { current: new Uint8Array(32) };

/** The proposed objects of one what-if over those of its paymaster, in its thread: `read`, `present` with what exists, `compile`. */
export class Proposal {
  #manifests: readonly ManifestObject[] = [];
  readonly #present = new Map<string, Proposed>();

  /** Throws INVALID_INPUT: for the form, for a kind or namespace of others, and for objects of several paymasters. */
  read(namespace: string, text: string): ProposedFor {
    const { objects, problems } = parseManifest('resources', text);
    const wrong: Problem[] = problems.slice(0, maxProblems).map(({ file, line, column, field, ...rest }) => ({
      ...rest,
      field: `${file}:${line}:${column}: ${field}`,
    }));
    for (const { kind, key } of objects)
      if (!kinds.some((known) => known === kind))
        wrong.push({ field: `resources: ${kind} ${formatKey(key)}`, expected: `one of ${kinds.join(', ')}` });
      else if (key.namespace !== namespace)
        wrong.push({
          field: `resources: ${kind} ${formatKey(key)}`,
          expected: `in namespace "${namespace}"`,
          value: quote(key.namespace),
        });
    const ids = new Set(objects.map(({ kind, key }) => `${kind} ${formatKey(key)}`));
    const names = new Set(
      objects.map(({ kind, key, spec }) =>
        kind === 'Paymaster' ? key.name : String(readField(readField(spec, 'paymasterRef'), 'name')),
      ),
    );
    const [paymaster] = names;
    if (wrong.length === 0 && ids.size < objects.length)
      wrong.push({ field: 'resources', expected: 'each object once' });
    if (wrong.length === 0 && (paymaster === undefined || names.size > 1 || objects.length > maxObjects))
      wrong.push({ field: 'resources', expected: `1 to ${maxObjects} objects of one Paymaster` });
    if (wrong.length > 0 || paymaster === undefined) throw invalidInput(wrong);
    this.#manifests = objects;
    return { paymaster };
  }

  /** Adds objects that exist. */
  present(objects: readonly Proposed[]): void {
    for (const object of objects) this.#present.set(`${object.kind} ${object.metadata.name}`, object);
  }

  /** Throws INVALID_INPUT for each proposed object that is not valid or would not be accepted. */
  compile(name: string, context: CompileContext): Begun & { readonly whatIf: WhatIf } {
    const proposed = this.#objects(context.now);
    this.present(proposed);
    const all = [...this.#present.values()];
    const paymaster = all.find((object) => object.kind === 'Paymaster' && object.metadata.name === name) as
      Resources['Paymaster'] | undefined;
    if (paymaster === undefined)
      throw invalidInput({ field: 'resources', expected: `of a Paymaster that exists; "${name}" does not` });
    const of = <K extends 'SmartContract' | 'PaymasterPolicy'>(kind: K): readonly Resources[K][] =>
      all.filter(
        (object): object is Resources[K] => object.kind === kind && object.spec.paymasterRef.name === name,
      );
    const { organisation, previous, now, from, quotas } = context;
    const compiled = compilePaymaster({
      paymaster,
      contracts: of('SmartContract'),
      policies: of('PaymasterPolicy'),
      organisation,
      // The operator alone knows the platform's default; it is the value that was compiled last.
      platform: { quotas, defaultContractAction: previous?.defaultContractAction ?? 'Allow' },
      siblings: [paymaster],
      programmed: new Set(),
      // Nothing of the chain is judged.
      chain: undefined,
      offeredChains: [],
      masterKeys: noKeys,
      previous,
      readMethods: readMethodsInParts,
      policyRules: context,
      now,
    });
    const found: readonly { readonly object: AnyResource; readonly accepted: Finding }[] = [
      ...compiled.contracts,
      ...compiled.policies,
    ];
    const refused = found.flatMap(({ object, accepted: { status, reason, message } }) =>
      status === 'False' && (proposed as readonly AnyResource[]).includes(object)
        ? [
            {
              field: `resources: ${object.kind} ${formatKey(objectKey(object))}`,
              expected: `acceptable (${reason}: ${message})`,
            },
          ]
        : [],
    );
    if (refused.length > 0) throw invalidInput(refused);
    const { webhooks, expressions = [], limits, ...rest } = withStandingCycles(compiled.config, context);
    const own = limits.filter(({ budget }) => budget !== true);
    const config: PaymasterConfig = { ...rest, webhooks: [], limits: own };
    const starts = own.map((limit) => limitWindowAt(limit, from).from);
    const named = (rule: NotJudged['rule'], policies: readonly { readonly name: string }[]) =>
      policies.map((policy) => ({ rule, name: policy.name }));
    return {
      paymasterId: derivePaymasterId(context.tenant, name),
      since: Math.min(from, ...starts) as EpochMs,
      notJudged: [
        ...named('webhook', webhooks),
        ...named('expression', expressions),
        ...named(
          'budget',
          limits.filter(({ budget }) => budget === true),
        ),
        ...(['gasCaps', 'factories', 'sharesAndDeposits'] as const).map((rule) => ({ rule, name: null })),
      ],
      whatIf: new WhatIf(composeDeps(config, compiled.lists, from)),
    };
  }

  #objects(now: EpochMs): readonly Proposed[] {
    const problems: Problem[] = [];
    const objects = this.#manifests.map(({ kind, key, spec, labels, annotations }) => {
      const old = this.#present.get(`${kind} ${key.name}`);
      const { namespace = '', name } = key;
      const wrong = validateResource(kind, { metadata: { namespace, name }, spec }, old);
      problems.push(...wrong.map((one) => ({ ...one, field: `${kind} ${formatKey(key)}: ${one.field}` })));
      const metadata = old?.metadata ?? {
        uid: randomUUID(),
        generation: 1,
        creationTimestamp: formatInstant(now),
        resourceVersion: '',
      };
      return {
        apiVersion,
        kind,
        metadata: { ...metadata, ...key, ...(labels && { labels }), ...(annotations && { annotations }) },
        spec,
        ...(old?.status && { status: old.status }),
      } as unknown as Proposed;
    });
    if (problems.length > 0) throw invalidInput(problems);
    return objects;
  }
}

function composeDeps(
  config: PaymasterConfig,
  lists: ReturnType<typeof compilePaymaster>['lists'],
  from: EpochMs,
): WhatIfDeps {
  const served = servePaymaster(config, createSharing());
  const addresses = new Map(lists.map(({ hash, addresses: listed }) => [hash, new Set(listed)]));
  return {
    chainId: config.chainId,
    rulesFor: (campaign) => forCampaign(served, campaign),
    listOf: (hash) => addresses.get(hash),
    from,
  };
}

/**
 * A limit that is changed starts a new cycle when the change is served. A what-if asks how the changed limit would have
 * counted then, so it keeps the cycle of the limit that it replaces, if that is as long; else its cycle begins with the period.
 */
function withStandingCycles(
  config: PaymasterConfig,
  { served, now, from }: Pick<CompileContext, 'served' | 'now' | 'from'>,
): PaymasterConfig {
  const limits = config.limits.map((limit) => {
    if (limit.startMs !== now) return limit;
    const former = served?.limits.find(({ policyId }) => policyId === limit.policyId);
    const stands = former !== undefined && former.durationMs === limit.durationMs;
    return { ...limit, startMs: stands ? former.startMs : from };
  });
  return { ...config, limits };
}
