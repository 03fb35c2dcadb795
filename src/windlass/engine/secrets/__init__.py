"""Secrets: named credentials and signing keys, encrypted at rest (AES-256-GCM), write-only.

A secret is put by its name and used by deliveries: to sign a webhook, or sent as a credential.
Putting it again rotates it; the version before stays good until its overlap ends.

Owns: the rows of secrets, their versions, and the hosts that each is bound to.
Promises: PostgreSQL sees a value sealed only; a sealed value opens under its own name alone; a
secret that is sent goes to the hosts it is bound to and to no other, decided by one statement of
all nodes together; no error, log line or repr shows a value.
Never: hands a value to a caller of the API, except what one target may know of a master key; signs
or sends anything (strategies.http.auth).

Doors:
  secrets     list, read, put, bind and delete; `target_secrets`: what one receiver verifies with
  store       `SecretStore.open`: values as deliveries get them, from memory nearly always
  value       what a value may be, and making a fresh key
  seal        `Sealer`: encrypting and decrypting; `sealer_of` the setting SECRET_KEY
  reencrypt   put everything under the first key, so that older keys can be taken away
"""
