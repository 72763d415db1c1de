"""``smkc mcp``: lets an assistant look at a running service through the Model Context Protocol.

In: the service's address, and messages on the standard input. Out: answers on the standard output.
"""

from importlib.util import find_spec
from typing import Annotated

import typer

from smkc.cli.failure import explained_failures
from smkc.errors import MissingExtraError, install_command

__all__ = ["mcp"]


def mcp(
    url: Annotated[
        str, typer.Option(metavar="URL", help="Where smkc watch answers.")
    ] = "http://127.0.0.1:9469",
    token_env: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Environment variable that holds a token with the role read."
        ),
    ] = "",
) -> None:
    """Let an assistant ask a running **smkc watch** what is wrong, why, and what is expected.

    It speaks the Model Context Protocol over standard input and output, and can only look. Give
    your assistant this command; with a token, name the variable that holds it.

    Examples
    --------
    * smkc mcp
    * smkc mcp --url https://smkc.example.org --token-env SMKC_TOKEN
    """
    with explained_failures():
        if find_spec("mcp") is None:
            raise MissingExtraError(
                f"an assistant is served by mcp, which is not installed; install it with: "
                f"{install_command('mcp')}"
            )
        from smkc.serve.assistant import RemoteService, server_of
        from smkc.serve.config.reaching import read_secret

        token = read_secret(token_env, None, "--token-env") if token_env else ""
        service = RemoteService(url, token)
        try:
            server_of(service).run("stdio")
        finally:
            service.close()
