import { DomainError } from '../../core/errors.js';
import type { KeyAnnouncement, KeyAnnouncements } from '../../core/master-keys.js';

/** The announcement in memory, with its faults: an outage, and another writer that is first. */
export type FakeAnnouncements = KeyAnnouncements & {
  stored: KeyAnnouncement | undefined;
  isAway: boolean;
};

export function createFakeAnnouncements(): FakeAnnouncements {
  let lastRead: KeyAnnouncement | undefined;
  const fake: FakeAnnouncements = {
    stored: undefined,
    isAway: false,
    async read() {
      if (fake.isAway) throw new DomainError('UNAVAILABLE', 'away');
      return (lastRead = fake.stored);
    },
    async write(next) {
      if (fake.isAway) throw new DomainError('UNAVAILABLE', 'away');
      if (fake.stored !== lastRead) return false;
      fake.stored = next;
      return true;
    },
  };
  return fake;
}
