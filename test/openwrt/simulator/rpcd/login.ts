/** The logins, as the login sections of the rpcd package say. Read anew at each login. */
import type { UciSection } from '../uci/package.ts';
import type { UciStore } from '../uci/store.ts';
import { passwordMatches } from './passwords.ts';

/** The section that these credentials fit, or undefined. */
export const findLogin = (
  store: UciStore,
  credentials: { username: string; password: string },
  shadowPath: string,
): UciSection | undefined => {
  if (store.text('rpcd') === undefined) return undefined;
  return store.load('rpcd').package.sections.find((section) => {
    const stored = section.options.get('password');
    return (
      section.type === 'login' &&
      section.options.get('username') === credentials.username &&
      typeof stored === 'string' &&
      passwordMatches(stored, credentials.password, shadowPath)
    );
  });
};
