"""The composition root: a node put together from its parts, in stages, and taken apart again.

    settings   file, environment, flags (config); the user's App and its tasks
       |
    servers    given URLs, or embedded PostgreSQL and Valkey, restarted when they end. The port is
       |       bound before: a busy one is said first, and callers hear that the node is starting
    store      migrate, then the connection pools; the fast lane, not connected yet. Meanwhile a
       |       thread imports what the next stages are made of
    engine     `engine_parts`: announcer, follower, caches, signals; secrets
       |
    runtime    kinds with their plugins, target gate, refresher: NodeParts -> Node
       |
    api        `api_parts`: enqueuer, waiters; the application is built when somebody needs it
       |
    ready      the App is connected -> the node registers and looks for work -> the lane connects
       |       -> the API takes over the port -> the App publishes
    drain      the node ends or hands back its work and leaves -> event streams -> API -> App
               -> caches, lane, pools -> embedded servers

Owns: the order of starting and stopping, and the ties between layers that no import may make: what
the layers below ask of the node (engine.upcalls) is passed in as they are made. Parts are made
whole: nobody gives one its callbacks afterwards.
Promises: a start that fails says why; a second SIGTERM ends a drain at once; after either nothing
that was started is left but the data.
Never: decides anything about a job.

Doors:
  start         `start`: store to ready, for `up`, `node`, tests and other programs; `Windlass`:
                what runs, with `drain` and `stop_now`
  store         `open_store`: migrated, and its pools open
  parts         `engine_parts`, `api_parts`: the stages that the tests of the API call, too
  foreground    `run_up`, `run_node`: settings to ready, and from a signal to the end; the
                listening socket, and who answers there until the node is ready
  terminal      what a person at the terminal reads: starting, banner, stopping
  ready         the moment a node is ready: the banner, the key file, the record of its address
  admin_key     the admin key as files, for commands on this machine; `reset_key`: a new one
  lost_password a one-time password for a user, beside the database
  private_file  files for this user alone
  in_program    `NodeInProgram`: a node in a thread of another program, such as a web server
  app_in_node   the user's Apps: their way to the API, and what they publish
  embedded      embedded servers kept alive; the secret key in their data folder
  more_nodes    nodes as child processes: of `up --nodes N`, and of `--reload`
  reload        the files of the App, watched; a node ends when one has changed
  data          the database of `windlass up`, for a second command
  backup        everything in one file, and out of it again
"""
