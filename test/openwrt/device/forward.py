# forward.py ADDRESS:PORT: listens in this network, and connects each connection to port 80 in the network of the process that is 1 by then
import asyncio, ctypes, os, socket, sys, time

address, _, port = sys.argv[1].rpartition(":")
listening = socket.create_server((address, int(port)), backlog=128)
while os.readlink("/proc/1/ns/net") == os.readlink("/proc/self/ns/net"):
    time.sleep(0.02)
CLONE_NEWNET = 0x40000000
if ctypes.CDLL(None, use_errno=True).setns(os.open("/proc/1/ns/net", os.O_RDONLY), CLONE_NEWNET) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.transport.abort()


async def connected(reader, writer):
    try:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", 80)
    except OSError:
        writer.transport.abort()
        return
    await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer))
    writer.close()
    inner_writer.close()


async def main():
    async with await asyncio.start_server(connected, sock=listening) as server:
        await server.serve_forever()


asyncio.run(main())
