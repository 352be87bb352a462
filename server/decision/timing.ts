import { unitNames, unitRow } from '../../core/usage/units.js';
import type { ReserveRequest, ReserveResult } from '../../core/usage/reserve-request.js';
import type { DecidingUsage } from '../../core/usage/usage-store.js';
import type { PolicyHosts } from '../../core/policy/policy-hosts.js';
import type { AccountValidator } from '../../core/userop/account-validation.js';
import type { GasEstimator } from '../../core/userop/estimator.js';
import type { TokenPaymentChecker } from '../../core/paymaster/token-payment-checker.js';
import type { Dependency, Instruments } from '../ops/instruments.js';

type Waits = {
  readonly usage: DecidingUsage;
  readonly estimator: GasEstimator;
  readonly hosts: Pick<PolicyHosts, 'call'>;
  readonly payments: TokenPaymentChecker;
  readonly accounts: AccountValidator;
};

/** The same ports with every call timed, which shows what a slow sponsorship waited for. Also counts what reservations take from limits. */
export function timeDependencies(
  { usage, estimator, hosts, payments, accounts }: Waits,
  { dependencyDuration, limitsReserved }: Pick<Instruments, 'dependencyDuration' | 'limitsReserved'>,
): Waits {
  const timed = (dependency: Dependency) => {
    const ok = dependencyDuration.with({ dependency, outcome: 'ok' });
    const failed = dependencyDuration.with({ dependency, outcome: 'failed' });
    return <T, Call extends PromiseLike<T>>(
      call: Call & PromiseLike<T>,
      noted?: (result: T) => void,
    ): Call => {
      const started = performance.now();
      const seconds = (): number => (performance.now() - started) / 1000;
      // The call is passed on as it is: this only observes how it ends.
      call.then(
        (result) => {
          ok.observe(seconds());
          noted?.(result);
        },
        () => failed.observe(seconds()),
      );
      return call;
    };
  };
  const onStore = timed('usage-store');
  const onEstimator = timed('estimator');
  const onHost = timed('webhook');
  const onPayment = timed('token-payment');
  const onAccount = timed('account-validation');
  const taken = new Map(
    unitNames.map((unit) => [unit, limitsReserved.with({ unit: unitRow(unit).measure })]),
  );
  const count = ({ phase, limits }: ReserveRequest, { outcome }: ReserveResult): void => {
    // A commit signs nothing: its finalize counts.
    if (outcome === 'reserved' && phase?.kind !== 'commit')
      for (const { unit, cost } of limits) taken.get(unit)?.inc(cost);
  };
  return {
    usage: {
      reserve: (request) =>
        onStore(usage.reserve(request), (result: ReserveResult) => count(request, result)),
      peek: (request) => onStore(usage.peek(request)),
      counters: (chainId, counters) => onStore(usage.counters(chainId, counters)),
      now: () => usage.now(),
      capacity: () => usage.capacity(),
    },
    estimator: { estimate: (request) => onEstimator(estimator.estimate(request)) },
    hosts: { call: (request) => onHost(hosts.call(request)) },
    payments: {
      check: (request) => onPayment(payments.check(request)),
      ground: (request) => onPayment(payments.ground(request)),
      holdings: (request) => onPayment(payments.holdings(request)),
    },
    accounts: { validate: (request) => onAccount(accounts.validate(request)) },
  };
}
