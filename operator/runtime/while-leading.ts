import { DomainError } from '../../core/errors.js';
import type { Leader } from './leader.js';

/** The functions of a port; each is refused as soon as another process may lead. */
export function whileLeading<T extends object>(leader: Leader, port: T): T {
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: readonly unknown[]): unknown => {
        if (leader.mayWrite()) return Reflect.apply(member, target, args);
        return Promise.reject(new DomainError('UNAVAILABLE', 'this operator is no longer the leader'));
      };
    },
  });
}
