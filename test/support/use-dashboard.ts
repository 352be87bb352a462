import { startDashboard, type DashboardHost, type DashboardOptions } from '../build/dashboard.js';
import { useStarted } from './use-started.js';

/** The dashboard of {@link startDashboard} for all tests of a file, in the mode of this run. */
export function useDashboard(options?: DashboardOptions): DashboardHost {
  return useStarted(() => startDashboard(options));
}
