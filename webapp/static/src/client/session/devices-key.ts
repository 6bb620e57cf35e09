/** The secret key by which the devices of one volunteer are known together, if this browser has one. */

import { makeToken } from "./token";

const STORED = "minga-devices-key";
const PATTERN = /^minga_devices_[A-Za-z0-9_-]{43}$/;

/** Whether the text is a key. */
export function isDevicesKey(text: string): boolean {
  return PATTERN.test(text);
}

/** Returns a new key. */
export function makeDevicesKey(): string {
  return `minga_devices_${makeToken()}`;
}

/** Returns the stored key; null without one, or in a browser without storage. */
export function storedDevicesKey(): string | null {
  try {
    const stored = localStorage.getItem(STORED);
    return stored !== null && isDevicesKey(stored) ? stored : null;
  } catch {
    return null;
  }
}

/** Stores the key; null forgets it. */
export function storeDevicesKey(key: string | null): void {
  try {
    if (key === null) localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, key);
  } catch {
    // Without storage the page knows the devices until it closes.
  }
}
